/** One issue of a granted place: the handles of its holder and of the re-entries nested in it share it. */
import type { Push } from '../driver.ts'
import type { Core } from './core.ts'
import { type Credential, placeDigest } from './credential.ts'
import { diagnostics } from './diagnostics.ts'
import { LockLostError, UsageError } from './errors.ts'
import type { Handle } from './handle.ts'
import { checkDeed, writeDeed } from './handing-on.ts'
import type { HoldState } from './held.ts'
import type { Lease, LeaseListener } from './lease.ts'
import type { Cancel } from './runtime.ts'
import type { Spec } from './spec.ts'

/** Who gave the hold out, and takes it back. */
export interface Issuer {
  /** The last handle let go. True: the place was still ours. */
  takeBack(hold: Hold): Promise<boolean>
  /** The place is gone. */
  forget(hold: Hold): void
}

/** A place can be issued this often; its tokens differ in their last ten bits. */
export const ISSUES_PER_PLACE = 1024n

export class Hold implements LeaseListener {
  readonly spec: Spec
  readonly lease: Lease
  /** How often this place was issued before. */
  readonly counter: number
  readonly owner: object | symbol | null
  readonly #core: Core
  readonly #issuer: Issuer
  readonly #grantedAt: number
  /** Nearly always there is one handle, and no list is made for it. */
  #first: Handle | null = null
  #others: Handle[] | null = null
  #state: 'held' | 'at-risk' | 'ended' = 'held'
  #loss: LockLostError | null = null
  #cancelMax: Cancel | null = null
  #place: string | null = null

  constructor(core: Core, issuer: Issuer, spec: Spec, lease: Lease, counter: number, owner: object | symbol | null) {
    this.#core = core
    this.#issuer = issuer
    this.spec = spec
    this.lease = lease
    this.counter = counter
    this.owner = owner
    this.#grantedAt = core.runtime.now()
    lease.listener = this
    const { maxHoldMs } = spec.settings
    if (maxHoldMs !== Number.POSITIVE_INFINITY) {
      this.#cancelMax = core.runtime.after(maxHoldMs, () => this.#giveUp(maxHoldMs), false)
    }
  }

  get token(): bigint {
    return this.lease.token * ISSUES_PER_PLACE + BigInt(this.counter)
  }

  /** Made when a guard asks: a hold that nobody guards pays nothing. */
  get credential(): Credential {
    const { name, mode, shareKey, settings } = this.spec
    this.#place ??= placeDigest(this.lease.entry.id)
    const { fenced } = this.#core.driver.traits
    return {
      line: name,
      token: this.token,
      place: this.#place,
      mode,
      alone: shareKey === null || settings.handovers === 0,
      fenced,
    }
  }

  /** The loss, once there was one. */
  get loss(): LockLostError | null {
    return this.#loss
  }

  /** How long the place must stay after it is given back now. */
  get lingerMs(): number {
    const { minHoldMs } = this.spec.settings
    return minHoldMs === 0 ? 0 : Math.max(0, Math.ceil(this.#grantedAt + minHoldMs - this.#core.runtime.now()))
  }

  get live(): boolean {
    return this.state !== 'lost' && this.#state !== 'ended'
  }

  /** Compares the clock: after a pause, user code may run before any timer does. */
  get state(): HoldState {
    if (this.#loss !== null) return 'lost'
    if (this.#state === 'ended') return 'released'
    this.#core.keeper.expire(this.lease)
    if (this.#loss !== null) return 'lost'
    return this.#state
  }

  get remainingMs(): number {
    if (!this.live || this.isDoubtful()) return 0
    return Math.max(0, this.#core.keeper.leftMs(this.lease))
  }

  /** The machine may have slept: not lost yet, but nothing may be done until the store has been asked. */
  isDoubtful(): boolean {
    if (!this.#core.keeper.isDoubtful(this.lease)) return false
    this.#core.keeper.look(this.lease)
    return true
  }

  join(handle: Handle): void {
    if (this.#first === null) {
      this.#first = handle
    } else {
      this.#others ??= []
      this.#others.push(handle)
    }
  }

  /** A handle lets go; with the last one the place is given back. */
  letGo(handle: Handle): Promise<boolean> {
    if (this.#first === handle) this.#first = this.#others?.pop() ?? null
    else this.#others = this.#others?.filter((other) => other !== handle) ?? null
    if (this.#first !== null) return Promise.resolve(true)
    this.#end()
    return this.#issuer.takeBack(this)
  }

  /** Ends here, to go on in another process: the text names it there, once. */
  async handOn(): Promise<string> {
    checkDeed(this.#core, this.spec, this.counter)
    if (this.#others !== null && this.#others.length > 0) {
      throw new UsageError(
        `line ${JSON.stringify(this.spec.name)}: a hold that was entered again can't be handed on; release those first`,
        { line: this.spec.name },
      )
    }
    this.#end()
    this.#core.keeper.remove(this.lease)
    this.lease.unwatch()
    this.#issuer.forget(this)
    try {
      return await writeDeed(this.#core, this.spec, this.lease, this.counter, this.lingerMs)
    } catch (error) {
      // Where it stands nobody knows: under its old id it goes now, under the new one with its lease.
      this.#core.reaper.drop(this.lease.entry)
      throw error
    }
  }

  /** Ends without a loss, for all handles at once: the instance is being closed. */
  close(): void {
    this.#end()
    for (const handle of this.#handles()) handle.closed()
  }

  placed(): void {
    if (this.#state !== 'at-risk') return
    this.#state = 'held'
    this.#tell('held')
  }

  risked(error: unknown): void {
    diagnostics.failed(this.spec.name, error)
    if (this.#state !== 'held') return
    this.#state = 'at-risk'
    this.#tell('at-risk')
  }

  ended(reason: string): void {
    this.#lose(reason)
  }

  woke(_push: Push | undefined): void {
    this.#core.keeper.look(this.lease)
  }

  #giveUp(maxHoldMs: number): void {
    if (this.#state === 'ended') return
    this.#core.keeper.remove(this.lease)
    this.#lose(`it was held for maxHoldMs, ${maxHoldMs} ms`)
  }

  #lose(reason: string): void {
    if (this.#state === 'ended') return
    const { name } = this.spec
    this.#end()
    this.#loss = new LockLostError(`line ${JSON.stringify(name)} was lost: ${reason}`, { line: name })
    // The store may believe in the place a little longer than we do: with it gone, the next is served at once.
    // Unless the lost holder is to have time to notice: it may be in the middle of something.
    this.lease.unwatch()
    this.#core.reaper.drop(this.lease.entry, Math.max(this.lingerMs, this.spec.settings.lockDelayMs))
    diagnostics.lost(name, this.token, reason)
    this.#issuer.forget(this)
    for (const handle of this.#handles()) handle.lost(this.#loss)
  }

  #end(): void {
    this.#state = 'ended'
    this.#cancelMax?.()
    this.#core.owners.forget(this)
  }

  #tell(state: HoldState): void {
    for (const handle of this.#handles()) handle.tell(state)
  }

  /** A copy: whoever is told may let go. */
  #handles(): Handle[] {
    return this.#first === null ? [] : [this.#first, ...(this.#others ?? [])]
  }
}
