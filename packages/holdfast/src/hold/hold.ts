/** One issue of a granted place: the handles of its holder and of the re-entries nested in it share it. */
import type { Place, Push } from '../contract/driver.ts'
import type { Core } from '../acquire/core.ts'
import { type Credential, ISSUES_PER_PLACE, placeDigest } from './credential.ts'
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
import { AliveWatch } from '../acquire/alive-watch.ts'
import { WantedWatch } from '../acquire/wanted.ts'

/** Who gave the hold out, and takes it back. */
export interface Issuer {
  /** The last handle let go. True: the place was still ours. */
  takeBack(hold: Hold): Promise<boolean>
  /** The place is gone. */
  forget(hold: Hold): void
}

const OURS = Promise.resolve(true)

/** What few holds have: a process may have a million holds, so they are made when they are needed. */
class Extras {
  loss: LockLostError | null = null
  owner: object | symbol | null = null
  /** Handles beside the first. */
  others: Set<Handle> | null = null
  cancelMax: Cancel | null = null
  place: string | null = null
  /** Set once somebody wants to know whether others wait. */
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
  /** When it was issued, unless it was the first: that one began with the grant of the place. */
  readonly #issuedAtMs: number | null
  /** Nearly always there is one handle, and no list is made for it. */
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

  /** Whether the store has said, since somebody heeds, that others wait. */
  get isWanted(): boolean {
    return this.#extras?.isWanted === true
  }

  /** Throws where nobody can say whether others wait. */
  checkHeeded(): void {
    checkWanted('held.wanted', this.spec.ask.settings, this.#core.driver.traits)
  }

  /** From here on the handles are told when somebody else waits for the lock. */
  heed(): void {
    if (this.#more.wantedWatch !== null || this.#state === 'ended') return
    const { heartbeat } = this.#core
    const watch = new WantedWatch(this.#core, this.spec.name, () => heartbeat.look(this.lease))
    this.#more.wantedWatch = watch
    // Asked once the watch is in force: who came earlier is in the answer, who comes later is told.
    void watch.start().then(() => heartbeat.look(this.lease))
  }

  /** Tells those who listen that a caller holds from now on, and for how long that caller has waited. */
  begin(request: number, askedAtMs: number, counter: number): void {
    const { name: lock } = this.spec
    const { source } = this.#core
    const { store, instance } = source
    const waitedMs = this.#core.runtime.now() - askedAtMs
    const by = counter === 0 ? 'store' : 'process'
    channels.acquired.publish({ store, instance, lock, request, token: this.token, waitedMs, by })
  }

  /** The same for a place that was taken in one step with others, or adopted: only now it is known that it was had. */
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

  /** How long the place has been held by whoever has this hold, or this one of the readers that share it. */
  #heldMs(holder: Handle | null): number {
    return this.#core.runtime.now() - (holder?.sinceMs ?? this.#grantedAtMs)
  }

  /** Those for whom a hold began: one, or each of the readers that share it. */
  #holders(): readonly (Handle | null)[] {
    return this.#isShared ? this.#handles().filter(({ isNested }) => !isNested) : [this.#first]
  }

  get #isShared(): boolean {
    return this.spec.ask.mode === 'shared' && this.spec.ask.shareKey !== null
  }

  get token(): bigint {
    return this.lease.token * ISSUES_PER_PLACE + BigInt(this.counter)
  }

  /** Made when a guard asks: a hold that nobody guards pays nothing. */
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

  /** What a guard knows the place by: its first id. */
  get #placeDigest(): string {
    this.#more.place ??= placeDigest(this.lease.id)
    return this.#more.place
  }

  /** The loss, once there was one. */
  get loss(): LockLostError | null {
    return this.#extras === null ? null : this.#extras.loss
  }

  /** How long the place must stay after it is given back now. */
  get lingerMs(): number {
    const { minHoldMs } = this.spec.ask.settings
    return minHoldMs === 0 ? 0 : Math.max(0, Math.ceil(this.#grantedAtMs + minHoldMs - this.#core.runtime.now()))
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

  /** The machine may have slept: not lost yet, but nothing may be done until the store has been asked. */
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

  /** A handle lets go; with the last one the place is given back. */
  letGo(handle: Handle): Promise<boolean> {
    if (this.#first !== handle) {
      this.#others?.delete(handle)
    } else {
      this.#first = this.#others?.values().next().value ?? null
      if (this.#first !== null) this.#others?.delete(this.#first)
    }
    // Readers that share the place come and go one by one; who has entered its own hold again does not.
    if (this.#first === null || (this.#isShared && !handle.isNested)) this.#tellReleased(handle)
    if (this.#first !== null) return OURS
    this.#end()
    return this.#issuer.takeBack(this)
  }

  /** Renews a fixed lease: it lasts `ms` from before the request on, or its ttl if that is longer. */
  extend(ms: number): Promise<void> {
    checkExtension(this.#core, this, ms)
    // Before the place gets another id.
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

  /** Ends here, to go on in another process: the text names it there, once. */
  async handOn(): Promise<string> {
    checkDeed(this.#core, this.spec, this.counter)
    if (this.#others !== null && this.#others.size > 0) {
      const name = JSON.stringify(this.spec.name)
      const message = this.#isShared
        ? `lock ${name}: other readers of this process share it; take it with fairness: 'strict' to hand it on`
        : `lock ${name}: a hold that was entered again can't be handed on; release those first`
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
      // Where it stands nobody knows: under its old id it goes now, under the new one with its lease.
      this.#core.cleanup.drop(this.lease)
      throw error
    }
  }

  /** Ends without a loss, for all handles at once: the instance is being closed. */
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
    this.#lose(`it was held for maxHoldMs, ${maxHoldMs} ms`, 'max-hold')
  }

  #lose(reason: string, cause: LossCause): void {
    if (this.#state === 'ended') return
    const { name } = this.spec
    this.#end()
    const loss = new LockLostError(`lock ${JSON.stringify(name)} was lost: ${reason}`, { line: name })
    this.#more.loss = loss
    // The store may believe in the place a little longer than we do: with it gone, the next is served at once.
    // Unless the lost holder is to have time to notice: it may be in the middle of something.
    this.lease.unwatch()
    this.#core.cleanup.drop(this.lease, Math.max(this.lingerMs, this.spec.ask.settings.lockDelayMs))
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

  /** A copy: whoever is told may let go. */
  #handles(): Handle[] {
    return this.#first === null ? [] : [this.#first, ...(this.#others ?? [])]
  }
}
