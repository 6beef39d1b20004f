/**
 * From reading to writing without a release. The reader's own place becomes heavier, in one step of the store. From
 * then on nobody else is granted, and the raise waits for all that are granted already. One place stays one place: a
 * writer X that waits behind the reader, and a reader R behind X, wait for it as before.
 */
import { type Entry, isGranted, type Place } from '../contract/driver.ts'
import type { LossCause } from '../contract/events.ts'
import type { Core } from './core.ts'
import { diagnostics } from '../contract/events.ts'
import { StoreUnreachableError, UnsupportedError } from '../contract/errors.ts'
import type { Hold } from '../hold/hold.ts'
import type { Lease, LeaseListener } from './lease.ts'
import { isTransient } from '../contract/transient.ts'

const PAUSE_MS = 50
const PAUSE_MS_MAX = 1_000
/** How often to look if the store sends no wake-ups. */
const POLL_MS = 250

export class Raise implements LeaseListener {
  readonly #core: Core
  readonly #hold: Hold
  readonly #lease: Lease
  readonly #weight: number
  /** Rises with every change of mind, so that a request that comes late changes nothing. */
  #turn = 0
  #wake = (): void => {}
  /** Why the store is silent, while it is. */
  #outage: unknown = null

  constructor(core: Core, hold: Hold, weight: number) {
    this.#core = core
    this.#hold = hold
    this.#lease = hold.lease
    this.#weight = weight
  }

  /** As the place is known now: an extension may have given it another id. */
  get #light(): Entry {
    return this.#lease.entry
  }

  get #heavy(): Entry {
    return { ...this.#light, weight: this.#weight }
  }

  /**
   * Waits until writing is safe; `wait` pauses. `check` throws if the caller does not want to write any more: the
   * caller may have given up while the answer was on its way.
   */
  async begin(check: () => void, wait: (ms: number, until: Promise<void>) => Promise<void>): Promise<void> {
    const turn = ++this.#turn
    this.#lease.listener = this
    try {
      for (;;) {
        this.#core.assertOpen()
        const changed = new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        const place = await this.#ask(this.#heavy, turn)
        check()
        if (place !== null && isGranted(this.#heavy, place)) return
        await wait(this.#pauseMs(place), changed)
      }
    } catch (error) {
      // The step may have been made, or may still be on its way. If it stayed, nobody behind would ever be served.
      if (this.#hold.live) await this.end()
      throw error
    } finally {
      if (this.#lease.listener === this) this.#lease.listener = this.#hold
    }
  }

  /**
   * Back to reading. Settles when the store has been asked once; if that failed, goes on in the background. Never
   * rejects.
   */
  end(): Promise<void> {
    return this.#lower(++this.#turn, PAUSE_MS)
  }

  /** Asks until the store has confirmed it, or the hold is over. A later change of mind has a turn of its own. */
  async #lower(turn: number, pauseMs: number): Promise<void> {
    try {
      if ((await this.#ask(this.#light, turn)) !== null) return
    } catch (error) {
      diagnostics.failed(this.#light.line, error)
    }
    const { runtime } = this.#core
    const again = (): void => {
      if (this.#turn === turn && this.#hold.live && !this.#core.isClosing) {
        void this.#lower(turn, Math.min(pauseMs * 2, PAUSE_MS_MAX))
      }
    }
    runtime.after(pauseMs * (0.5 + runtime.random()), again, false)
  }

  /** The error for a caller whose time is up. Never confuse "readers stayed" with "the store did not answer". */
  unreachable(waitMs: number): StoreUnreachableError | null {
    if (this.#outage === null) return null
    const { line } = this.#light
    const message = `lock ${JSON.stringify(line)}: the store did not answer within ${waitMs} ms; this hold still reads`
    return new StoreUnreachableError(message, { line, cause: this.#outage })
  }

  /** null: there was no answer, or the place is gone. The heartbeat finds out which, and tells the hold. */
  async #ask(entry: Entry, turn: number): Promise<Place | null> {
    const { driver, heartbeat } = this.#core
    if (driver.reweigh === undefined) throw cannotUpgrade(this.#core, entry.line)
    try {
      const place = await driver.reweigh(entry, turn)
      this.#outage = null
      if (place === null) heartbeat.look(this.#lease)
      return place
    } catch (error) {
      if (!isTransient(error)) throw error
      this.#outage = error
      return null
    }
  }

  /** A wake-up may be lost, so the next look comes with the heartbeat at the latest. */
  #pauseMs(place: Place | null): number {
    if (place === null) return PAUSE_MS
    const heartbeatMs = this.#lease.term.renewMs
    const pollMs = this.#core.driver.traits.push === 'none' ? Math.min(heartbeatMs, POLL_MS) : heartbeatMs
    return place.recheckMs === null ? pollMs : Math.min(pollMs, place.recheckMs + 1)
  }

  placed(place: Place): void {
    this.#hold.placed(place)
  }

  risked(error: unknown): void {
    this.#hold.risked(error)
  }

  ended(reason: string, cause: LossCause): void {
    this.#hold.ended(reason, cause)
    this.#wake()
  }

  /** Only a new answer counts, because the push may be older than the raise. */
  woke(): void {
    this.#hold.woke(undefined)
    this.#wake()
  }
}

export function cannotUpgrade({ driver }: Core, line: string): UnsupportedError {
  const message = `${driver.name} can't do upgradeable read locks: ${driver.traits.safety}`
  return new UnsupportedError(message, { line })
}
