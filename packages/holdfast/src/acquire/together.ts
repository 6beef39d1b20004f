/**
 * Takes several locks of one store in one step: places in all of their lines, or in none. Nobody waits here: a caller
 * that must wait does so lock by lock.
 */
import { onAbort } from '../contract/aborts.ts'
import type { Entry, Place } from '../contract/driver.ts'
import { diagnostics } from '../contract/events.ts'
import type { Wish } from '../contract/options.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Handle } from '../hold/handle.ts'
import { Acquisition, giveBack } from './acquisition.ts'
import type { Core } from './core.ts'
import type { Lease } from './lease.ts'
import { otherwise, type Spec } from './spec.ts'

/**
 * A hold of each lock, in the given order. null: not all are free, or the store did not answer in time, or can't take
 * these in one step. Then nothing is kept, and the caller asks for one lock after the other, which also tells why.
 */
export function acquireTogether(core: Core, specs: readonly Spec[], wish: Wish): Promise<Handle[] | null> {
  const enterAll = core.driver.enterAll?.bind(core.driver)
  if (enterAll === undefined) return Promise.resolve(null)
  return new Promise((resolve) => {
    new Together(core, specs, wish, resolve).start(enterAll)
  })
}

class Together {
  readonly #core: Core
  readonly #specs: readonly Spec[]
  readonly #wish: Wish
  readonly #resolve: (handles: Handle[] | null) => void
  readonly #acquisitions: Acquisition[] = []
  readonly #leases = new Map<number, Lease>()
  #unanswered: number
  #isOver = false
  #cancelTimer: Cancel | null = null
  #forget: (() => void) | null = null

  constructor(core: Core, specs: readonly Spec[], wish: Wish, resolve: (handles: Handle[] | null) => void) {
    this.#core = core
    this.#specs = specs
    this.#wish = wish
    this.#resolve = resolve
    this.#unanswered = specs.length
  }

  start(enterAll: (entries: readonly Entry[]) => Promise<Place[] | null>): void {
    const { waitMs, signal } = this.#wish
    const limitMs = waitMs === 0 ? this.#core.connectTimeoutMs : waitMs
    if (limitMs !== Number.POSITIVE_INFINITY) {
      this.#cancelTimer = this.#core.runtime.after(limitMs, () => this.#giveUp(), true)
    }
    if (signal !== null) this.#forget = onAbort(signal, () => this.#giveUp())
    const step = new JointStep(this.#specs.length, enterAll)
    for (const [i, spec] of this.#specs.entries()) {
      const offer = { ask: (entry: Entry) => step.ask(i, entry), patienceMs: 0 }
      const applicant = {
        granted: (lease: Lease) => this.#granted(i, lease),
        refused: () => this.#answered(),
        blocked: () => undefined,
        failed: (error: unknown) => this.#failed(error),
      }
      this.#acquisitions.push(new Acquisition(spec, false, applicant, offer))
    }
    for (const acquisition of this.#acquisitions) acquisition.start()
  }

  #granted(i: number, lease: Lease): void {
    this.#leases.set(i, lease)
    this.#answered()
  }

  #answered(): void {
    if (--this.#unanswered > 0 || this.#isOver) return
    // The instance may have been closed meanwhile, and then nobody would give these places back.
    if (this.#leases.size < this.#specs.length || this.#core.isClosing) this.#giveUp()
    else this.#end(this.#specs.map((spec, i) => this.#admit(this.#leases.get(i) as Lease, spec)))
  }

  /** The caller goes on to ask for the locks one by one, which gives the same error or a better one. */
  #failed(error: unknown): void {
    diagnostics.failed(this.#specs.map(({ name }) => name).join(', '), error)
    this.#giveUp()
  }

  #giveUp(): void {
    if (this.#isOver) return
    for (const acquisition of this.#acquisitions) acquisition.cancel()
    for (const lease of this.#leases.values()) void giveBack(this.#core, lease)
    this.#end(null)
  }

  #end(handles: Handle[] | null): void {
    this.#isOver = true
    this.#cancelTimer?.()
    this.#forget?.()
    this.#resolve(handles)
  }

  #admit(lease: Lease, spec: Spec): Handle {
    return this.#core.admit(lease, otherwise(spec, { shareKey: null }), 0, this.#wish.owner)
  }
}

/** One request for all locks: sent when the last of them has asked; each gets its part of the answer. */
class JointStep {
  readonly #entries: Entry[] = []
  #missing: number
  readonly #send: (entries: readonly Entry[]) => void
  readonly #places: Promise<Place[] | null>

  constructor(count: number, enterAll: (entries: readonly Entry[]) => Promise<Place[] | null>) {
    this.#missing = count
    let settle: (places: Promise<Place[] | null>) => void = () => undefined
    this.#places = new Promise((resolve) => {
      settle = resolve
    })
    this.#send = (entries) => settle(enterAll(entries))
  }

  async ask(i: number, entry: Entry): Promise<Place | null> {
    this.#entries[i] = entry
    if (--this.#missing === 0) this.#send(this.#entries)
    return (await this.#places)?.[i] ?? null
  }
}
