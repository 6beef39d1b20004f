/** A lock on one line: the same three methods for every primitive. */
import { checkFunction } from './check.ts'
import { Context, checkMode } from './context.ts'
import type { Core } from './core.ts'
import { LockLostError } from './errors.ts'
import { Handle } from './handle.ts'
import type { Held } from './held.ts'
import type { Hold } from './hold.ts'
import { type AcquireOptions, resolveAcquire, type Wish } from './options.ts'
import { timedOut } from './queue.ts'
import type { Runtime } from './runtime.ts'
import { type Spec, withHolds } from './spec.ts'
import { enterTogether } from './together.ts'
import { Waiter } from './waiter.ts'

const NONE = Promise.resolve(null)

/** Safe to share between any number of concurrent callers. */
export interface Lock {
  readonly name: string
  /** Waits for the lock. Rejects with AcquireTimeoutError after `waitMs`, or with the signal's own reason when aborted. */
  acquire(options?: AcquireOptions): Promise<Held>
  /** One try: null when others have it. */
  tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<Held | null>
  /**
   * Does work under the lock and releases it. The work's own error comes through; work that ends after the lock was lost
   * rejects with a LockLostError that has its result; a failed release goes to diagnostics only.
   */
  using<T>(fn: (held: Held) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
}

/** The options of any lock; `permits` are refused by all but semaphores. */
export type LineOptions = AcquireOptions & { readonly permits?: number }

export class LineLock implements Lock {
  protected readonly core: Core
  protected readonly spec: Spec

  constructor(core: Core, spec: Spec) {
    this.core = core
    this.spec = spec
  }

  get name(): string {
    return this.spec.name
  }

  /** Runs work inside a hold of this lock, so that the work may enter it again. */
  inside<T>(held: Held, fn: () => T | PromiseLike<T>): Promise<T> {
    const opens = this.spec.settings.reentrant && this.spec.mode !== 'permits'
    return opens ? Context.run(this.core, held as Handle, fn) : Promise.resolve().then(fn)
  }

  /** Whether both are locks of one instance, on one line. */
  sharesLineWith(other: LineLock): boolean {
    return this.core === other.core && this.name === other.name
  }

  /** What tells stores apart that have lines of the same name: the kind of store, and the label it was opened with. */
  get storeLabel(): string {
    return `${this.core.driver.name} ${this.spec.settings.label}`
  }

  get runtime(): Runtime {
    return this.core.runtime
  }

  /** A hold of each in one step; null when they must be asked for one by one. */
  static enterTogether(locks: readonly LineLock[], wish: Wish): Promise<readonly Held[] | null> {
    const core = locks[0]?.core
    if (core === undefined || locks.length < 2) return NONE
    if (locks.some((lock) => lock.core !== core || lock.#isInside(wish))) return NONE
    core.assertOpen()
    if (wish.signal?.aborted === true) return NONE
    return enterTogether(
      core,
      locks.map(({ spec }) => spec),
      wish,
    )
  }

  /** Whether the caller is in a hold of this line already, and would enter it again. */
  #isInside({ owner }: Wish): boolean {
    const { settings, mode, name } = this.spec
    if (!settings.reentrant || mode === 'permits') return false
    return (owner === null ? Context.find(this.core, name) : this.core.owners.find(owner, name)) !== null
  }

  /** What this call asks of the line, and which options it has beyond those of every lock. */
  protected specOf(_options: LineOptions | undefined): { readonly spec: Spec; readonly extra?: readonly string[] } {
    return { spec: this.spec }
  }

  acquire(options?: LineOptions): Promise<Held> {
    return this.#acquire(options)
  }

  async tryAcquire(options?: Omit<LineOptions, 'waitMs'>): Promise<Held | null> {
    const { spec, extra } = this.specOf(options)
    return await this.#ask(spec, resolveAcquire(options, true, extra))
  }

  async using<T>(fn: (held: Held) => T | PromiseLike<T>, options?: LineOptions): Promise<T> {
    checkFunction('the work given to using', fn)
    const handle = await this.#acquire(options)
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
      `${loss?.message ?? 'the lock was lost'}; the work had ended, its result is in \`result\``,
      {
        line: this.name,
        result,
        cause: loss ?? undefined,
      },
    )
  }

  async #acquire(options: LineOptions | undefined): Promise<Handle> {
    const { spec, extra } = this.specOf(options)
    const wish = resolveAcquire(options, false, extra)
    const handle = await this.#ask(spec, wish)
    if (handle === null) throw timedOut(this.name, wish.waitMs)
    return handle
  }

  #ask(spec: Spec, wish: Wish): Promise<Handle | null> {
    return new Promise((resolve, reject) => {
      this.core.assertOpen()
      if (wish.signal?.aborted === true) throw wish.signal.reason
      const waiter = new Waiter(spec, wish, resolve, reject)
      if (spec.settings.reentrant && spec.mode !== 'permits') {
        if (wish.owner !== null) {
          const hold = this.core.owners.find(wish.owner, spec.name)
          if (hold !== null) {
            checkMode(hold, spec)
            waiter.resolve(new Handle(hold, spec, null))
            return
          }
        } else {
          const context = Context.find(this.core, spec.name)
          if (context !== null) {
            context.enter(waiter)
            return
          }
        }
      }
      const holds = wish.owner === null ? Context.holds(this.core) : this.core.owners.holds(wish.owner)
      this.core.apply(holds.length === 0 ? waiter : this.#entangled(spec, wish, holds, resolve, reject))
    })
  }

  /** The caller holds something and may wait: both are known while it does, here and in the store. */
  #entangled(
    spec: Spec,
    wish: Wish,
    holds: readonly Hold[],
    resolve: (handle: Handle | null) => void,
    reject: (reason: unknown) => void,
  ): Waiter {
    const { waits } = this.core
    const wait = { spec, holds }
    if (spec.settings.refuseDeadlock && wish.waitMs > 0) waits.check(wait)
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
