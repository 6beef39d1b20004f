/**
 * A place that stays with this process after its release, until somebody else wants it. While it is kept nobody here
 * holds the lock; the next caller of this process gets it without a call to the store.
 */
import type { Place, Push } from '../contract/driver.ts'
import { diagnostics } from '../contract/events.ts'
import { ISSUE_MAX } from '../hold/token.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Core } from './core.ts'
import type { Lease, LeaseListener } from './lease.ts'

/** A change this soon after a change of our own may be that one: the store is asked before the place goes. */
const OWN_CHANGE_MS = 500

/** Told when the place must be given back (`live`), or has gone by itself. */
export type LetGo = (kept: KeptPlace, live: boolean) => void

export class KeptPlace implements LeaseListener {
  readonly lease: Lease
  /** The number of its last issue. */
  readonly counter: number
  readonly #core: Core
  readonly #letGo: LetGo
  #cancelTimer: Cancel | null

  constructor(core: Core, lease: Lease, counter: number, keepMs: number, letGo: LetGo) {
    this.#core = core
    this.lease = lease
    this.counter = counter
    this.#letGo = letGo
    lease.listener = this
    const isBounded = keepMs !== Number.POSITIVE_INFINITY
    this.#cancelTimer = isBounded ? core.runtime.after(keepMs, () => this.#letGo(this, true), false) : null
  }

  /** Whether a caller of this process can have it: it has a number left, and the lease is good for some time. */
  get isUsable(): boolean {
    const { heartbeat } = this.#core
    const { lease } = this
    return (
      this.counter < ISSUE_MAX &&
      !lease.wanted &&
      heartbeat.leftMs(lease) >= lease.ttlMs / 3 &&
      !heartbeat.isDoubtful(lease)
    )
  }

  /** Somebody has it from here on, or nobody. */
  end(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  /** Something has changed in the line, in which only this place stood. */
  changed(): void {
    const { runtime, heartbeat } = this.#core
    if (runtime.now() - this.lease.grantedAtMs < OWN_CHANGE_MS) heartbeat.look(this.lease)
    else this.#letGo(this, true)
  }

  placed(place: Place): void {
    if (place.wanted) this.#letGo(this, true)
  }

  risked(error: unknown): void {
    diagnostics.failed(this.lease.line, error)
  }

  ended(): void {
    this.#letGo(this, false)
  }

  woke(_push: Push | undefined): void {
    this.#core.heartbeat.look(this.lease)
  }
}
