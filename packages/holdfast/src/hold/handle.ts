/** What the caller of `acquire` gets: a view of a hold that the caller can release once. */
import type { Credential } from './credential.ts'
import { diagnostics } from '../contract/events.ts'
import { type ClosedError, LockLostError, NotHeldError } from '../contract/errors.ts'
import type { Held, HoldState } from './held.ts'
import type { Hold } from './hold.ts'
import type { Spec } from '../acquire/spec.ts'

/** Fields that few handles need. */
class Extras {
  /** What this handle was asked for with, inside another hold. */
  spec: Spec | null = null
  wanted: AbortController | null = null
  onReleased: (() => void) | null = null
  sinceMs: number | null = null
  /** The instance was closed while this handle held. */
  closed: ClosedError | null = null
}

export class Handle implements Held {
  readonly #hold: Hold
  #controller: AbortController | null = null
  #extras: Extras | null = null
  #releasing: Promise<boolean> | null = null
  #released = false

  /** `onReleased` is called when this handle ends in any way. */
  constructor(hold: Hold, spec: Spec, onReleased: (() => void) | null) {
    this.#hold = hold
    if (spec !== hold.spec) this.#more.spec = spec
    if (onReleased !== null) this.#more.onReleased = onReleased
    hold.join(this)
    // Runs in a microtask of its own, before the caller's code: a listener may release the lock at once, and the code
    // that makes this handle is not ready for that.
    if (spec.ask.settings.onState !== null) queueMicrotask(() => this.#begun())
  }

  get #spec(): Spec {
    return this.#extras?.spec ?? this.#hold.spec
  }

  get #more(): Extras {
    this.#extras ??= new Extras()
    return this.#extras
  }

  /** Since when this handle holds the lock, if it shares its place with others and somebody listens. */
  get sinceMs(): number | null {
    return this.#extras === null ? null : this.#extras.sinceMs
  }

  set sinceMs(atMs: number) {
    this.#more.sinceMs = atMs
  }

  get name(): string {
    return this.#spec.name
  }

  get token(): bigint {
    return this.#hold.token
  }

  /** True if this handle came from re-entry, inside another handle's hold. */
  get isNested(): boolean {
    return this.#extras !== null && this.#extras.onReleased !== null
  }

  get hold(): Hold {
    return this.#hold
  }

  /** For the guards of `holdfast/fence`; not part of `Held`. */
  get credential(): Credential {
    return this.#hold.credential
  }

  get state(): HoldState {
    return this.#released ? 'released' : this.#hold.state
  }

  get remainingMs(): number {
    return this.#released ? 0 : this.#hold.remainingMs
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      const reason = this.state === 'lost' ? this.#hold.loss : (this.#extras?.closed ?? null)
      if (reason !== null) this.#controller.abort(reason)
    }
    return this.#controller.signal
  }

  get wanted(): AbortSignal {
    let wanted = this.#extras?.wanted ?? null
    if (wanted === null) {
      this.#hold.checkHeeded()
      wanted = new AbortController()
      this.#more.wanted = wanted
      if (this.#hold.isWanted) wanted.abort(this.#wantedReason())
      else this.#hold.heed()
    }
    return wanted.signal
  }

  assertHeld(): void {
    const { name } = this.#spec
    if (this.#released) throw new NotHeldError(`lock ${JSON.stringify(name)}: this hold was released`, { line: name })
    if (this.#hold.state === 'lost') throw this.#hold.loss
    if (this.#hold.isDoubtful()) {
      throw new LockLostError(
        `lock ${JSON.stringify(name)} must be treated as lost: ` +
          'by the wall clock its lease has run out; Holdfast is asking the store',
        { line: name },
      )
    }
  }

  async extend(ms: number = this.#spec.ask.settings.ttlMs): Promise<void> {
    this.assertHeld()
    await this.#hold.extend(ms)
    this.assertHeld()
  }

  async export(): Promise<string> {
    this.assertHeld()
    const text = this.#hold.handOn()
    if (!this.#hold.live) this.gone()
    return text
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release()
    return this.#releasing
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }

  /** The hold is lost; from now on this handle answers accordingly. */
  lost(loss: LockLostError): void {
    this.#controller?.abort(loss)
    this.tell('lost')
    this.#extras?.onReleased?.()
  }

  /** The instance was closed, which releases the lock: work that goes on learns it from the signal. */
  closed(error: ClosedError): void {
    this.#more.closed = error
    this.#controller?.abort(error)
    this.gone()
  }

  /** Another process has the hold now, or the instance was closed: as if released. */
  gone(): void {
    this.#released = true
    this.#releasing ??= Promise.resolve(true)
    this.tell('released')
    this.#extras?.onReleased?.()
  }

  tell(state: HoldState): void {
    const { onState } = this.#spec.ask.settings
    if (onState !== null) this.#call(() => onState(state, this))
  }

  /** Tells the holder that somebody else waits for the lock. */
  tellWanted(): void {
    this.#extras?.wanted?.abort(this.#wantedReason())
    const { onWanted } = this.#spec.ask.settings
    if (onWanted !== null) this.#call(() => onWanted(this))
  }

  #wantedReason(): Error {
    return new Error(`somebody waits for lock ${JSON.stringify(this.name)}`)
  }

  /** An error of a listener goes to diagnostics: it must not become the result of our caller. */
  #call(listener: () => unknown): void {
    const failed = (error: unknown): void => diagnostics.failed(this.#spec.name, error)
    try {
      // An async listener returns a promise, although its type says that nobody waits for the result.
      const told = listener()
      if (told instanceof Promise) told.catch(failed)
    } catch (error) {
      failed(error)
    }
  }

  #begun(): void {
    if (!this.#released && this.#hold.loss === null) this.tell('held')
  }

  #release(): Promise<boolean> {
    // Ask the clock first whether the hold is still ours; only then send anything.
    if (this.#hold.state === 'lost') return Promise.resolve(false)
    this.#released = true
    const ours = this.#hold.letGo(this)
    this.tell('released')
    this.#extras?.onReleased?.()
    return ours
  }
}
