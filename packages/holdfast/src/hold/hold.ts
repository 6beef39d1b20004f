/** One issue of a granted place. The handle of its holder and the handles of all re-entries share it. */
import type { Place, Push } from '../contract/driver.ts'
import type { Core } from '../acquire/core.ts'
import { type Credential, placeDigest } from './credential.ts'
import { channels, diagnostics, type LossCause, nextRequest } from '../contract/events.ts'
import { LockLostError, NotHeldError, UsageError } from '../contract/errors.ts'
import { checkWanted } from '../contract/options.ts'
import type { Handle } from './handle.ts'
import { checkDeed, writeDeed } from './handing-on.ts'
import { checkExtension, extend } from './extension.ts'
import type { HoldState } from './held.ts'
import type { Lease, LeaseListener } from '../acquire/lease.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { Spec } from '../acquire/spec.ts'
import { tokenOf } from './token.ts'
import { AliveWatch } from '../acquire/alive-watch.ts'
import { WantedWatch } from '../acquire/wanted.ts'

/** What issues holds, and takes them back. */
export interface Issuer {
  /** The last handle has let go. True: the place was still ours. */
  takeBack(hold: Hold): Promise<boolean>
  /** The place is gone. */
  forget(hold: Hold): void
}

const OURS = Promise.resolve(true)

/** Fields that few holds need. A process may have a million holds, so these are made only when needed. */
class Extras {
  loss: LockLostError | null = null
  owner: object | symbol | null = null
  /** All handles but the first. */
  others: Set<Handle> | null = null
  cancelMax: Cancel | null = null
  place: string | null = null
  /** Set as soon as a holder wants to know whether others wait. */
  wantedWatch: WantedWatch | null = null
  isWanted = false
  /** One extension at a time: each counts from the lease that the one before has left. */
  extending: Promise<void> | null = null
  aliveWatch: AliveWatch | null = null

  end(): void {
    this.aliveWatch?.end()
    this.cancelMax?.()
    this.wantedWatch?.end()
  }
}

export class Hold implements LeaseListener {
  readonly spec: Spec
  readonly lease: Lease
  /** How often this place was issued before. */
  readonly counter: number
  readonly #issuer: Issuer
  /** When this hold was issued. null for the first issue of a place: it began with the grant. */
  readonly #issuedAtMs: number | null
  /** There is nearly always one handle, so no list is made for it. */
  #first: Handle | null = null
  #state: 'held' | 'at-risk' | 'ended' = 'held'
  #extras: Extras | null = null

  constructor(issuer: Issuer, spec: Spec, lease: Lease, counter: number, owner: object | symbol | null) {
    const { core } = spec.ask
    this.#issuer = issuer
    this.spec = spec
    this.lease = lease
    this.counter = counter
    this.#issuedAtMs = counter === 0 ? null : core.runtime.now()
    if (owner !== null) this.#more.owner = owner
    lease.listener = this
    const { maxHoldMs } = spec.ask.settings
    if (maxHoldMs !== Number.POSITIVE_INFINITY) {
      this.#more.cancelMax = core.runtime.after(maxHoldMs, () => this.#giveUp(maxHoldMs), false)
    }
    if (spec.ask.settings.onWanted !== null) this.heed()
    const { aliveIf } = spec.ask.settings
    if (aliveIf !== null) this.#more.aliveWatch = new AliveWatch(core, lease, aliveIf)
  }

  get #core(): Core {
    return this.spec.ask.core
  }

  get owner(): object | symbol | null {
    return this.#extras === null ? null : this.#extras.owner
  }

  get #grantedAtMs(): number {
    return this.#issuedAtMs ?? this.lease.grantedAtMs
  }

  get #more(): Extras {
    this.#extras ??= new Extras()
    return this.#extras
  }

  get #others(): Set<Handle> | null {
    return this.#extras === null ? null : this.#extras.others
  }

  /** Whether the store has said that others wait, since a holder began to ask. */
  get isWanted(): boolean {
    return this.#extras?.isWanted === true
  }

  /** Throws where nobody can say whether others wait. */
  checkHeeded(): void {
    checkWanted('held.wanted', this.spec.ask.settings, this.#core.driver.traits)
  }

  /** From here on the handles hear when somebody else waits for the lock. */
  heed(): void {
    if (this.#more.wantedWatch !== null || this.#state === 'ended') return
    const { heartbeat } = this.#core
    const watch = new WantedWatch(this.#core, this.spec.name, () => heartbeat.look(this.lease))
    this.#more.wantedWatch = watch
    // Ask once the watch is in force: then the answer shows whoever came earlier, and the watch whoever comes later.
    void watch.start().then(() => heartbeat.look(this.lease))
  }

  /** Publishes that a caller holds the lock from now on, and how long that caller has waited. */
  begin(request: number, askedAtMs: number, counter: number): void {
    const { name: lock } = this.spec
    const { source } = this.#core
    const { store, instance } = source
    const waitedMs = this.#core.runtime.now() - askedAtMs
    const by = counter === 0 ? 'store' : 'process'
    channels.acquired.publish({ store, instance, lock, request, token: this.token, waitedMs, by })
  }

  /**
   * The same for a place that was taken in one step with others, or adopted: only now is it certain that we have it.
   */
  beginUnasked(): void {
    if (!channels.requested.hasSubscribers && !channels.acquired.hasSubscribers) return
    const { name, ask } = this.spec
    const { weight, capacity } = ask
    const { source } = this.#core
    const request = nextRequest()
    if (channels.requested.hasSubscribers) {
      channels.requested.publish({ ...source, lock: name, request, waitMs: 0, weight, capacity })
    }
    if (channels.acquired.hasSubscribers) this.begin(request, this.lease.sinceMonoMs, 0)
  }

  /** How long this holder has held the place; for one of several readers that share it, since that reader came. */
  #heldMs(holder: Handle | null): number {
    return this.#core.runtime.now() - (holder?.sinceMs ?? this.#grantedAtMs)
  }

  /** All for whom a hold began: one holder, or each of the readers that share the place. */
  #holders(): readonly (Handle | null)[] {
    return this.#isShared ? this.#handles().filter(({ isNested }) => !isNested) : [this.#first]
  }

  get #isShared(): boolean {
    return this.spec.ask.mode === 'shared' && this.spec.ask.shareKey !== null
  }

  get token(): bigint {
    return tokenOf(this.lease.token, this.counter)
  }

  /** Made when a guard asks, so that a hold without a guard costs nothing. */
  get credential(): Credential {
    const { name, ask } = this.spec
    const { mode, shareKey, settings } = ask
    const { fenced } = this.#core.driver.traits
    return {
      line: name,
      token: this.token,
      place: this.#placeDigest,
      mode,
      alone: shareKey === null || settings.handovers === 0,
      fenced,
    }
  }

  /** By this name a guard knows the place: the digest of its first id. */
  get #placeDigest(): string {
    this.#more.place ??= placeDigest(this.lease.id)
    return this.#more.place
  }

  /** The loss, once there was one. */
  get loss(): LockLostError | null {
    return this.#extras === null ? null : this.#extras.loss
  }

  /** How long the place must stay if it is given back now. */
  get lingerMs(): number {
    const { minHoldMs } = this.spec.ask.settings
    return minHoldMs === 0 ? 0 : Math.max(0, Math.ceil(this.#grantedAtMs + minHoldMs - this.#core.runtime.now()))
  }

  /** How long others are kept out if it is given up now. A lost holder may be in the middle of something. */
  get keepsOutMs(): number {
    return this.loss === null ? this.lingerMs : Math.max(this.lingerMs, this.spec.ask.settings.lockDelayMs)
  }

  get live(): boolean {
    return this.state !== 'lost' && this.#state !== 'ended'
  }

  /** Compares the clock: after a pause, user code may run before any timer does. */
  get state(): HoldState {
    if (this.loss !== null) return 'lost'
    if (this.#state === 'ended') return 'released'
    this.#core.heartbeat.expire(this.lease)
    if (this.loss !== null) return 'lost'
    return this.#state
  }

  get remainingMs(): number {
    if (!this.live || this.isDoubtful()) return 0
    return Math.max(0, this.#core.heartbeat.leftMs(this.lease))
  }

  /**
   * True if the machine may have slept. The hold is not lost yet, but the holder may do nothing until the store has
   * answered.
   */
  isDoubtful(): boolean {
    if (!this.#core.heartbeat.isDoubtful(this.lease)) return false
    this.#core.heartbeat.look(this.lease)
    return true
  }

  join(handle: Handle): void {
    if (this.#first === null) {
      this.#first = handle
    } else {
      this.#more.others ??= new Set()
      this.#more.others.add(handle)
    }
  }

  /** A handle lets go; with the last handle the place is given back. */
  letGo(handle: Handle): Promise<boolean> {
    if (this.#first !== handle) {
      this.#others?.delete(handle)
    } else {
      this.#first = this.#others?.values().next().value ?? null
      if (this.#first !== null) this.#others?.delete(this.#first)
    }
    // Publish a release for each reader that shares the place, and for the first handle, but not for a re-entry.
    if (this.#first === null || (this.#isShared && !handle.isNested)) this.#tellReleased(handle)
    if (this.#first !== null) return OURS
    this.#end()
    return this.#issuer.takeBack(this)
  }

  /** Renews a fixed lease: it lasts `ms` from before the request on, or its ttl if that is longer. */
  extend(ms: number): Promise<void> {
    checkExtension(this.#core, this, ms)
    // Take the digest before the place gets another id.
    this.#more.place ??= placeDigest(this.lease.id)
    const extending = (this.#more.extending ?? Promise.resolve()).then(() => {
      checkExtension(this.#core, this, ms)
      return extend(this.#core, this, ms)
    })
    this.#more.extending = Promise.allSettled([extending]).then(() => undefined)
    return extending
  }

  assertLive(): void {
    if (this.live) return
    const { name } = this.spec
    throw this.loss ?? new NotHeldError(`lock ${JSON.stringify(name)}: this hold was released`, { line: name })
  }

  /** Ends the hold here, so that another process can go on with it. The returned ticket names the place there, once. */
  async handOn(): Promise<string> {
    checkDeed(this.#core, this.spec, this.counter)
    if (this.#others !== null && this.#others.size > 0) {
      const name = JSON.stringify(this.spec.name)
      const message = this.#isShared
        ? `lock ${name}: other readers of this process share it; take it with fairness: 'strict' to export it`
        : `lock ${name}: a hold with re-entries can't be exported; release those first`
      throw new UsageError(message, { line: this.spec.name })
    }
    this.#end()
    this.#tellReleased(this.#first)
    this.#core.heartbeat.remove(this.lease)
    this.lease.unwatch()
    this.#issuer.forget(this)
    try {
      return await writeDeed(this.#core, this.spec, this.lease, this.counter, this.lingerMs)
    } catch (error) {
      // Nobody knows under which id the place stands now. Under its old id it goes now, under the new id with its
      // lease.
      this.#core.cleanup.drop(this.lease)
      throw error
    }
  }

  /** Ends all handles at once without a loss: the instance is being closed. */
  close(): void {
    this.#end()
    for (const holder of this.#holders()) this.#tellReleased(holder)
    const error = this.#core.closedError()
    for (const handle of this.#handles()) handle.closed(error)
  }

  placed(place?: Place): void {
    const extras = this.#extras
    if (place?.wanted === true && extras !== null && extras.wantedWatch !== null && !extras.isWanted) {
      extras.isWanted = true
      for (const handle of this.#handles()) handle.tellWanted()
    }
    if (this.#state !== 'at-risk') return
    this.#state = 'held'
    this.#core.atRisk--
    this.#tell('held')
  }

  risked(error: unknown): void {
    diagnostics.failed(this.spec.name, error)
    if (this.#state !== 'held') return
    if (channels['at-risk'].hasSubscribers) {
      const { name } = this.spec
      const { source } = this.#core
      const { token, remainingMs } = this
      channels['at-risk'].publish({ ...source, lock: name, token, remainingMs, error })
    }
    this.#state = 'at-risk'
    this.#core.atRisk++
    this.#tell('at-risk')
  }

  ended(reason: string, cause: LossCause): void {
    this.#lose(reason, cause)
  }

  woke(_push: Push | undefined): void {
    this.#core.heartbeat.look(this.lease)
  }

  #giveUp(maxHoldMs: number): void {
    if (this.#state === 'ended') return
    this.#core.heartbeat.remove(this.lease)
    this.#lose(`its maxHoldMs of ${maxHoldMs} ms is over`, 'max-hold')
  }

  #lose(reason: string, cause: LossCause): void {
    if (this.#state === 'ended') return
    const { name } = this.spec
    this.#end()
    const loss = new LockLostError(`lock ${JSON.stringify(name)} was lost: ${reason}`, { line: name })
    this.#more.loss = loss
    // The store may keep the place a little longer than we trust it: leaving it lets the next waiter in at once. But
    // not if the lost holder is to have time to notice, because that holder may be in the middle of something.
    this.lease.unwatch()
    this.#core.cleanup.drop(this.lease, this.keepsOutMs)
    if (channels.lost.hasSubscribers) {
      const { source } = this.#core
      for (const holder of this.#holders()) {
        const heldMs = this.#heldMs(holder)
        channels.lost.publish({ ...source, lock: name, token: this.token, heldMs, cause, reason })
      }
    }
    this.#issuer.forget(this)
    for (const handle of this.#handles()) handle.lost(loss)
  }

  #end(): void {
    if (this.#state === 'at-risk') this.#core.atRisk--
    this.#state = 'ended'
    this.#extras?.end()
    if (this.owner !== null) this.#core.owners.forget(this)
  }

  #tellReleased(holder: Handle | null): void {
    if (!channels.released.hasSubscribers) return
    const { name: lock } = this.spec
    const { source } = this.#core
    const { store, instance } = source
    channels.released.publish({ store, instance, lock, token: this.token, heldMs: this.#heldMs(holder) })
  }

  #tell(state: HoldState): void {
    for (const handle of this.#handles()) handle.tell(state)
  }

  /** A copy, because a listener may let go while the list is read. */
  #handles(): Handle[] {
    return this.#first === null ? [] : [this.#first, ...(this.#others ?? [])]
  }
}
