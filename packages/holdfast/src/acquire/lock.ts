/** A lock on one line: the same three methods for every primitive. */
import { checkFunction } from '../contract/check.ts'
import { Context, checkMode, storage as contexts } from '../hold/reentry.ts'
import type { Core } from './core.ts'
import { LockLostError } from '../contract/errors.ts'
import { Handle } from '../hold/handle.ts'
import type { Held } from '../hold/held.ts'
import type { Hold } from '../hold/hold.ts'
import { type AcquireOptions, IMPATIENT, PATIENT, resolveAcquire, type Wish } from '../contract/options.ts'
import { type Callers, timedOut } from './local-queue.ts'
import type { Runtime } from '../contract/runtime.ts'
import { type Spec, withHolds } from './spec.ts'
import { acquireTogether } from './together.ts'
import { Waiter } from './waiter.ts'

const NONE = Promise.resolve(null)

/** A lock. Any number of callers may share one object. */
export interface Lock {
  readonly name: string
  /**
   * Waits for the lock. Rejects with AcquireTimeoutError after `waitMs`, or with the reason of the signal after an
   * abort.
   */
  acquire(options?: AcquireOptions): Promise<Held>
  /** One try: null if others have the lock. */
  tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<Held | null>
  /**
   * Runs the work while it holds the lock, and releases the lock afterwards. An error of the work reaches the caller.
   * If the work ends after the lock was lost, `using` rejects with a LockLostError that has the result. An error of the
   * release goes to diagnostics only.
   */
  using<T>(fn: (held: Held) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
}

/** The options of any lock; only semaphores accept `permits`. */
export type LineOptions = AcquireOptions & { readonly permits?: number }

export class LineLock implements Lock {
  protected readonly core: Core
  protected readonly spec: Spec
  /** Found once, and again if it was forgotten, because most locks are used more than once. */
  #queue: Callers | null = null

  constructor(core: Core, spec: Spec) {
    this.core = core
    this.spec = spec
  }

  get name(): string {
    return this.spec.name
  }

  /** Runs work inside a hold of this lock, so that the work may enter it again. */
  inside<T>(held: Held, fn: () => T | PromiseLike<T>): Promise<T> {
    const { reentrant, refuseDeadlock } = this.spec.ask.settings
    const enters = reentrant && this.spec.ask.mode !== 'permits'
    if (!enters && !refuseDeadlock) return Promise.resolve().then(fn)
    return Context.run(this.core, held as Handle, enters, fn)
  }

  /** Whether both are locks of one instance, on one line. */
  sharesLineWith(other: LineLock): boolean {
    return this.core === other.core && this.name === other.name
  }

  /** Tells apart stores that have lines of the same name: the kind of store, and the label of the instance. */
  get storeLabel(): string {
    return `${this.core.driver.name} ${this.spec.ask.settings.label}`
  }

  get runtime(): Runtime {
    return this.core.runtime
  }

  /** Takes a hold of each lock in one step; null if they must be asked for one by one. */
  static acquireTogether(locks: readonly LineLock[], wish: Wish): Promise<readonly Held[] | null> {
    const core = locks[0]?.core
    if (core === undefined || locks.length < 2) return NONE
    if (locks.some((lock) => lock.core !== core || lock.#isInside(wish))) return NONE
    core.assertOpen()
    if (wish.signal?.aborted === true) return NONE
    return acquireTogether(
      core,
      locks.map(({ spec }) => spec),
      wish,
    )
  }

  /** Whether the caller is already in a hold of this line, and would enter it again. */
  #isInside({ owner }: Wish): boolean {
    const { name, ask } = this.spec
    const { settings, mode } = ask
    if (!settings.reentrant || mode === 'permits') return false
    return (owner === null ? Context.find(this.core, name) : this.core.owners.find(owner, name)) !== null
  }

  /** What this call asks of the line, and which options it accepts besides those of every lock. */
  protected specOf(_options: LineOptions): { readonly spec: Spec; readonly extra?: readonly string[] } {
    return { spec: this.spec }
  }

  acquire(options?: LineOptions): Promise<Held> {
    // Who waits for ever gets a handle or an error: nothing is to be made of the answer.
    if (options === undefined) return this.#ask(this.spec, PATIENT) as Promise<Handle>
    return this.#acquire(options, false)
  }

  async tryAcquire(options?: Omit<LineOptions, 'waitMs'>): Promise<Held | null> {
    if (options === undefined) return await this.#ask(this.spec, IMPATIENT)
    const { spec, extra } = this.specOf(options)
    return await this.#ask(spec, resolveAcquire(options, true, extra))
  }

  async using<T>(fn: (held: Held) => T | PromiseLike<T>, options?: LineOptions): Promise<T> {
    checkFunction('the work given to using', fn)
    const handle = await this.#acquire(options, true)
    let result: T
    try {
      result = await this.inside(handle, () => fn(handle))
    } catch (error) {
      await handle.release()
      throw error
    }
    if (await handle.release()) return result
    const loss = handle.hold.loss
    throw new LockLostError(
      `${loss?.message ?? 'the lock was lost'}; the work ended all the same, and its result is in \`result\``,
      {
        line: this.name,
        result,
        cause: loss ?? undefined,
      },
    )
  }

  async #acquire(options: LineOptions | undefined, scoped: boolean): Promise<Handle> {
    let [spec, wish] = [this.spec, PATIENT]
    if (options !== undefined) {
      const own = this.specOf(options)
      spec = own.spec
      wish = resolveAcquire(options, false, own.extra)
    }
    const handle = await this.#ask(spec, wish, scoped)
    if (handle === null) throw timedOut(this.name, wish.waitMs)
    return handle
  }

  #ask(spec: Spec, wish: Wish, scoped = false): Promise<Handle | null> {
    return new Promise((resolve, reject) => {
      const { core } = this
      if (core.isClosing) throw core.closedError()
      if (wish.signal?.aborted === true) throw wish.signal.reason
      const waiter = new Waiter(spec, wish, resolve, reject, scoped)
      // Nearly every caller is in no hold of this instance and gives no owner, so nothing is looked up.
      if (wish.owner !== null || contexts.getStore() !== undefined) {
        if (this.#enterAgain(waiter)) return
        const holds = this.#held(wish.owner)
        if (holds.length > 0) {
          const entangled = this.#entangled(spec, wish, holds, resolve, reject)
          entangled.ask()
          core.queueOf(entangled.spec, wish.owner).add(entangled)
          return
        }
      }
      waiter.ask()
      this.#queueOf(waiter).add(waiter)
    })
  }

  #queueOf({ spec, wish }: Waiter): Callers {
    if (this.#queue?.isListed === true && spec === this.spec && wish.owner === null) return this.#queue
    const queue = this.core.queueOf(spec, wish.owner)
    if (queue.isListed) this.#queue = queue
    return queue
  }

  /** Whether the caller was already in a hold of this lock, and shares that hold now. */
  #enterAgain(waiter: Waiter): boolean {
    const { spec, wish } = waiter
    if (!spec.ask.settings.reentrant || spec.ask.mode === 'permits') return false
    if (wish.owner === null) {
      const context = Context.find(this.core, spec.name)
      context?.enter(waiter)
      return context !== null
    }
    const hold = this.core.owners.find(wish.owner, spec.name)
    if (hold === null) return false
    checkMode(hold, spec)
    waiter.resolve(new Handle(hold, spec, null))
    return true
  }

  /** What the caller holds, through its contexts and in the name of its owner. */
  #held(owner: object | symbol | null): readonly Hold[] {
    const holds = Context.holds(this.core)
    if (owner === null) return holds
    return [...new Set([...holds, ...this.core.owners.holds(owner)])]
  }

  /** The caller holds something and may have to wait. Meanwhile both facts are on record, here and in the store. */
  #entangled(
    spec: Spec,
    wish: Wish,
    holds: readonly Hold[],
    resolve: (handle: Handle | null) => void,
    reject: (reason: unknown) => void,
  ): Waiter {
    const { waits } = this.core
    const wait = { spec, holds }
    if (spec.ask.settings.refuseDeadlock && wish.waitMs > 0) waits.check(wait)
    waits.add(wait)
    const named = holds.map((hold) => ({ line: hold.spec.name, token: hold.lease.token }))
    return new Waiter(
      withHolds(spec, named),
      wish,
      (handle) => {
        waits.delete(wait)
        resolve(handle)
      },
      (reason) => {
        waits.delete(wait)
        reject(reason)
      },
    )
  }
}
