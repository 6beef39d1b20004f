/**
 * From reading to writing without letting go. The reader already has a place of a weight of which two never fit (U); now a
 * second place is added that takes all the rest (W).
 *
 * W is granted by the ordinary rule once only U is in front of it. A writer X, or another of U's kind, may have come between: it waits
 * for U to go, and W stands behind it; by the ordinary rule both would wait for ever. But X can't be granted while U
 * lives, and nobody is ever inserted in front of W: once only U and such writers stand in front, no reader is left and
 * none can come. That is seen in the list of the line, if W itself is in it: then so is all that is in front of it.
 */
import { type Entry, isGranted, type LineView, type Place, type Stop } from '../driver.ts'
import type { Core } from './core.ts'
import { StoreUnreachableError } from './errors.ts'
import type { Handle } from './handle.ts'
import { Lease } from './lease.ts'
import { Overture } from './overture.ts'
import { makeEntry, type Spec } from './spec.ts'
import { renewMs } from './validity.ts'

const PAUSE_MS = 50
/** Where the store wakes nobody. */
const POLL_MS = 250

export class Promotion {
  readonly #core: Core
  readonly #spec: Spec
  /** The reader's own place. */
  readonly #reader: Lease
  #wake = (): void => {}
  #stops: Stop[] = []
  #entry: Entry | null = null

  constructor(core: Core, spec: Spec, reader: Lease) {
    this.#core = core
    this.#spec = spec
    this.#reader = reader
  }

  /** Waits until writing is safe; `wait` pauses, and throws when the caller wants to wait no longer. */
  async run(wait: (ms: number, until: Promise<void>) => Promise<void>): Promise<Handle> {
    try {
      for (;;) {
        this.#core.assertOpen()
        const changed = new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        const lease = await this.#try()
        if (lease !== null) {
          this.#core.assertOpen()
          this.#stop()
          return this.#core.admit(lease, this.#spec, 0, null)
        }
        await wait(this.#pauseMs, changed)
      }
    } catch (error) {
      this.#stop()
      if (this.#entry !== null) this.#core.reaper.drop(this.#entry)
      throw error
    }
  }

  /** A wake-up may be lost, and each look renews: the next one comes with the heartbeat at the latest. */
  get #pauseMs(): number {
    if (this.#entry === null) return PAUSE_MS
    const heartbeatMs = renewMs(this.#spec.settings.ttlMs)
    return this.#core.driver.traits.push === 'none' ? Math.min(heartbeatMs, POLL_MS) : heartbeatMs
  }

  async #try(): Promise<Lease | null> {
    const { driver } = this.#core
    try {
      const { entry, place } = await this.#place()
      if (place === null) {
        // Lapsed, or broken: an id names one place, once.
        this.#core.reaper.drop(entry)
        this.#stop()
        this.#entry = null
        return null
      }
      const isFree = isGranted(entry, place) || (await this.#isFree(place, driver.list(entry.line)))
      if (!isFree) return null
      const lease = new Lease(entry, this.#spec.settings.ttlMs, new Overture())
      lease.take(place)
      const isUsable = this.#core.keeper.leftMs(lease) > 0 && !this.#core.keeper.isDoubtful(lease)
      if (!isUsable) return null
      lease.stop = this.#stops.shift() ?? null
      return lease
    } catch (error) {
      if (error instanceof StoreUnreachableError) return null
      throw error
    }
  }

  /** Enters at first; afterwards renews and looks. */
  async #place(): Promise<{ readonly entry: Entry; readonly place: Place | null }> {
    const { driver, runtime } = this.#core
    if (this.#entry !== null) {
      const [place = null] = await driver.touch([this.#entry])
      // An enter without an answer leaves nothing to touch, if it never arrived.
      return { entry: this.#entry, place: place ?? (await driver.enter(this.#entry, true)) }
    }
    const entry = makeEntry(this.#spec, runtime.randomId())
    this.#stops = [
      await driver.watch(entry.line, entry.id, () => this.#wake()),
      await driver.watch(entry.line, null, () => this.#wake()),
    ]
    this.#entry = entry
    return { entry, place: await driver.enter(entry, true) }
  }

  /** Only the reader itself and those that must wait for it stand in front. */
  async #isFree(place: Place, lines: AsyncIterable<LineView>): Promise<boolean> {
    for await (const line of lines) {
      if (line.name !== this.#spec.name) continue
      const all = [...line.holders, ...line.waiters]
      if (!all.some(({ token }) => token === place.token)) return false
      const before = all.filter(({ token }) => token < place.token)
      const { token: own, entry } = this.#reader
      // Those that came after the reader and do not fit beside it are not granted while it lives.
      const isHarmless = (token: bigint, weight: number): boolean =>
        token === own || (token > own && weight + entry.weight > line.capacity)
      return before.some(({ token }) => token === own) && before.every(({ token, weight }) => isHarmless(token, weight))
    }
    return false
  }

  #stop(): void {
    for (const stop of this.#stops) stop()
    this.#stops = []
  }
}
