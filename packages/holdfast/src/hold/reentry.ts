/**
 * Re-entry by async context. `using` opens a context around the work; work inside it that asks for the same line enters
 * the hold it is already in. A hold has at most one nested hold at a time: siblings (Promise.all) take turns, since two
 * tasks inside one exclusive hold would not exclude each other. Only descendants of the nested one go deeper.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Core } from './core.ts'
import { UsageError } from './errors.ts'
import { Handle } from './handle.ts'
import type { Hold } from './hold.ts'
import { timedOut } from './queue.ts'
import type { Spec } from './spec.ts'
import type { Waiter } from './waiter.ts'

const storage = new AsyncLocalStorage<Context>()
// Most acquisitions are in no context: they make no list.
const NOTHING: readonly Hold[] = []

export class Context {
  readonly #core: Core
  readonly #hold: Hold
  readonly #parent: Context | undefined
  #open = true
  #nested: Handle | null = null
  readonly #waiters: Waiter[] = []

  private constructor(core: Core, hold: Hold) {
    this.#core = core
    this.#hold = hold
    this.#parent = storage.getStore()
  }

  /** Runs the work of `using` inside a context of its own. */
  static async run<T>(core: Core, handle: Handle, fn: () => T | PromiseLike<T>): Promise<T> {
    const context = new Context(core, handle.hold)
    try {
      return await storage.run(context, fn)
    } finally {
      // A background task that outlives the work still sees this context: it must not take itself for the holder.
      context.#open = false
    }
  }

  /** The innermost open context around the caller that holds the line. */
  static find(core: Core, line: string): Context | null {
    for (let context = storage.getStore(); context !== undefined; context = context.#parent) {
      if (context.#core === core && context.#open && context.#hold.spec.name === line && context.#hold.live)
        return context
    }
    return null
  }

  /** All that the caller holds by the contexts it is in, the innermost first. */
  static holds(core: Core): readonly Hold[] {
    const inner = storage.getStore()
    if (inner === undefined) return NOTHING
    const holds: Hold[] = []
    for (let context: Context | undefined = inner; context !== undefined; context = context.#parent) {
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
      this.#waiters.push(waiter)
      waiter.arm(this.#core.runtime, (why) =>
        why === 'signal' ? waiter.wish.signal?.reason : timedOut(waiter.spec.name, waiter.wish.waitMs),
      )
    }
  }

  #nest(waiter: Waiter): void {
    this.#nested = new Handle(this.#hold, waiter.spec, () => this.#freed())
    waiter.resolve(this.#nested)
  }

  #freed(): void {
    this.#nested = null
    for (let waiter = this.#waiters.shift(); waiter !== undefined; waiter = this.#waiters.shift()) {
      if (waiter.settled) continue
      if (this.#open && this.#hold.live) {
        this.#nest(waiter)
        return
      }
      // The hold it waited inside is over: it stands in line like everybody else.
      this.#core.apply(waiter)
    }
  }
}

/** What is held must be at least what is asked for: a reader that waits to write would wait for itself. */
export function checkMode(hold: Hold, spec: Spec): void {
  if (hold.spec.mode === 'shared' && spec.mode === 'exclusive') {
    throw new UsageError(
      `line ${JSON.stringify(spec.name)}: a read lock can't become a write lock; release the read lock first`,
      { line: spec.name },
    )
  }
}
