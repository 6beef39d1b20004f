/**
 * Re-entry by async context. `using` opens a context around the work; work inside it that asks for the same line enters
 * the hold that it is already in. A hold has at most one nested hold at a time. Siblings (Promise.all) wait for each
 * other, because two tasks inside one exclusive hold would not exclude each other. Only descendants of the nested hold
 * go deeper.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Core } from '../acquire/core.ts'
import { DeadlockError, UsageError } from '../contract/errors.ts'
import { Handle } from './handle.ts'
import type { Hold } from './hold.ts'
import { timedOut } from '../acquire/local-queue.ts'
import { isUpgradeable, type Spec } from '../acquire/spec.ts'
import { type Waiter, WaiterList } from '../acquire/waiter.ts'

/** The innermost context around the caller. Most callers are in none, and look no further. */
export const storage: AsyncLocalStorage<Context> = new AsyncLocalStorage<Context>()

export class Context {
  readonly #core: Core
  readonly #hold: Hold
  readonly #parent: Context | undefined
  /** False: this context only says what the caller holds. */
  readonly #reentrant: boolean
  #open = true
  #nested: Handle | null = null
  /** Whether the nested hold ends by itself, with the work given to `using`. */
  #nestedEnds = false
  readonly #waiters = new WaiterList()

  private constructor(core: Core, hold: Hold, reentrant: boolean) {
    this.#core = core
    this.#hold = hold
    this.#reentrant = reentrant
    this.#parent = storage.getStore()
  }

  /** Runs the work of `using` inside a context of its own. */
  static async run<T>(core: Core, handle: Handle, reentrant: boolean, fn: () => T | PromiseLike<T>): Promise<T> {
    const context = new Context(core, handle.hold, reentrant)
    try {
      return await storage.run(context, fn)
    } finally {
      // A background task that outlives the work still sees this context, and must not take itself for the holder.
      context.#open = false
    }
  }

  /** The innermost open context around the caller that holds the line. */
  static find(core: Core, line: string): Context | null {
    for (let context = storage.getStore(); context !== undefined; context = context.#parent) {
      if (context.#core !== core || !context.#open || !context.#reentrant) continue
      if (context.#hold.spec.name === line && context.#hold.live) return context
    }
    return null
  }

  /** All that the caller holds through its contexts, the innermost first. */
  static holds(core: Core): readonly Hold[] {
    const holds: Hold[] = []
    for (let context = storage.getStore(); context !== undefined; context = context.#parent) {
      if (context.#core === core && context.#open && context.#hold.live) holds.push(context.#hold)
    }
    return holds
  }

  enter(waiter: Waiter): void {
    checkMode(this.#hold, waiter.spec)
    if (this.#nested === null) {
      this.#nest(waiter)
    } else if (waiter.wish.waitMs === 0) {
      waiter.resolve(null)
    } else {
      this.#refuseDeadlock(waiter)
      this.#waiters.push(waiter)
      waiter.arm((why) =>
        why === 'signal' ? waiter.wish.signal?.reason : timedOut(waiter.spec.name, waiter.wish.waitMs),
      )
    }
  }

  /**
   * Two acquires in a row inside one `using`: the second would wait for the first, which nobody else will ever release.
   */
  #refuseDeadlock({ spec }: Waiter): void {
    if (!spec.ask.settings.refuseDeadlock || this.#nestedEnds) return
    throw new DeadlockError(
      `lock ${JSON.stringify(spec.name)}: an earlier acquire inside the same using was not released, ` +
        'and this one would wait for it; release the earlier one first, or nest using',
      { line: spec.name },
    )
  }

  #nest(waiter: Waiter): void {
    this.#nestedEnds = waiter.scoped
    this.#nested = new Handle(this.#hold, waiter.spec, () => this.#freed())
    waiter.resolve(this.#nested)
  }

  #freed(): void {
    this.#nested = null
    for (let waiter = this.#waiters.shift(); waiter !== null; waiter = this.#waiters.shift()) {
      if (this.#open && this.#hold.live) {
        this.#nest(waiter)
        return
      }
      // The hold that this waiter waited inside is over, so the waiter joins the queue like everybody else.
      if (this.#core.isClosing) waiter.reject(this.#core.closedError())
      else {
        waiter.ask()
        this.#core.queueOf(waiter.spec, waiter.wish.owner).add(waiter)
      }
    }
  }
}

/** The held mode must be at least the wanted mode: a reader that waits to write would wait for itself. */
export function checkMode(hold: Hold, spec: Spec): void {
  // A reader's place may be shared by readers of this process, who would hold beside its writer, and two readers may
  // both ask for this. A writer's next token belongs to the caller that its place is handed on to.
  if (isUpgradeable(spec) && !isUpgradeable(hold.spec)) {
    throw new UsageError(
      `lock ${JSON.stringify(spec.name)}: a read or write lock can't become upgradeable; take upgrade first`,
      { line: spec.name },
    )
  }
  if (hold.spec.ask.mode === 'shared' && spec.ask.mode === 'exclusive') {
    throw new UsageError(
      `lock ${JSON.stringify(spec.name)}: a read lock can't become a write lock; release the read lock first`,
      { line: spec.name },
    )
  }
}
