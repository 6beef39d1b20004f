/**
 * Several locks as one: all or nothing. Everybody takes them in the same order (by the bytes of the name, then by the
 * store's kind and label), so that two callers who want the same locks never wait for each other.
 */
import { checkFunction, shown } from '../contract/check.ts'
import { AcquireTimeoutError, LockLostError, UsageError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import { LineLock, type Lock } from '../acquire/lock.ts'
import { type AcquireOptions, resolveAcquire } from '../contract/options.ts'

/** Several locks that you hold. */
export interface MultiHeld extends AsyncDisposable {
  /** One hold for each lock, in the order in which you gave the locks. */
  readonly holds: readonly Held[]
  /** Aborts when any of them is lost. */
  readonly signal: AbortSignal
  /** What is left of the shortest lease. */
  readonly remainingMs: number
  /** Throws unless all are held. */
  assertHeld(): void
  /** Releases all. True: all were still yours. */
  release(): Promise<boolean>
}

/** Several locks as one: all of them, or none. */
export interface MultiLock {
  /** Waits for all of them; `waitMs` is for all together. */
  acquire(options?: AcquireOptions): Promise<MultiHeld>
  /** One try: null if others have any of them. */
  tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<MultiHeld | null>
  /** Runs the work while all are held. */
  using<T>(fn: (held: MultiHeld) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
}

class Holds implements MultiHeld {
  readonly holds: readonly Held[]
  #signal: AbortSignal | null = null

  constructor(holds: readonly Held[]) {
    this.holds = holds
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any(this.holds.map((held) => held.signal))
    return this.#signal
  }

  get remainingMs(): number {
    return Math.min(...this.holds.map((held) => held.remainingMs))
  }

  assertHeld(): void {
    for (const held of this.holds) held.assertHeld()
  }

  async release(): Promise<boolean> {
    const ends = await Promise.all(this.holds.toReversed().map((held) => held.release()))
    return !ends.includes(false)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}

export class LineMultiLock implements MultiLock {
  readonly #locks: readonly LineLock[]
  /** For each of the sorted locks: its position in the given order. */
  readonly #order: readonly number[]

  constructor(locks: readonly Lock[]) {
    if (!Array.isArray(locks) || locks.length === 0) {
      throw new UsageError(`all must be given a list of locks with at least one in it, given ${shown(locks)}`)
    }
    const own = locks.map((lock) => {
      if (lock instanceof LineLock) return lock
      throw new UsageError(`all takes locks made by mutex, semaphore or rwLock, given ${shown(lock)}`)
    })
    this.#order = own.map((_, i) => i).toSorted((a, b) => compare(own[a] as LineLock, own[b] as LineLock))
    this.#locks = this.#order.map((i) => own[i] as LineLock)
    this.#checkDistinct()
  }

  acquire(options?: AcquireOptions): Promise<MultiHeld> {
    return this.#acquire(options)
  }

  async tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<MultiHeld | null> {
    const together = await LineLock.acquireTogether(this.#locks, resolveAcquire(options, true))
    if (together !== null) return this.#given(together)
    const holds: Held[] = []
    try {
      for (const lock of this.#locks) {
        const held = await lock.tryAcquire(options)
        if (held === null) {
          await release(holds)
          return null
        }
        holds.push(held)
      }
    } catch (error) {
      await release(holds)
      throw error
    }
    return this.#given(holds)
  }

  async using<T>(fn: (held: MultiHeld) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    checkFunction('the work given to using', fn)
    const multi = await this.#acquire(options)
    // The work runs inside the contexts of all locks at once, so that it may enter each of them again.
    let work = async (): Promise<T> => fn(multi)
    for (const [i, lock] of this.#locks.entries()) {
      const [held, inner] = [multi.holds[this.#order[i] as number] as Held, work]
      work = () => lock.inside(held, inner)
    }
    let result: T
    try {
      result = await work()
    } catch (error) {
      await multi.release()
      throw error
    }
    if (await multi.release()) return result
    throw new LockLostError(
      'one of several locks was lost; the work ended all the same, and its result is in `result`',
      { result },
    )
  }

  async #acquire(options?: AcquireOptions): Promise<Holds> {
    const wish = resolveAcquire(options, false)
    const { waitMs } = wish
    const { runtime } = this.#locks[0] as LineLock
    const until = runtime.now() + waitMs
    const together = await LineLock.acquireTogether(this.#locks, wish)
    if (together !== null) return this.#given(together)
    const holds: Held[] = []
    try {
      for (const lock of this.#locks) {
        const leftMs = waitMs === 0 ? 0 : Math.max(1, until - runtime.now())
        holds.push(await lock.acquire({ ...options, waitMs: leftMs }))
      }
      // The first lock was granted while we waited for the others. All must be held now.
      for (const held of holds) held.assertHeld()
    } catch (error) {
      await release(holds)
      if (!(error instanceof AcquireTimeoutError) || waitMs === 0) throw error
      throw new AcquireTimeoutError(
        `lock ${JSON.stringify(error.line)}, one of ${this.#locks.length}, stayed held by others; ` +
          `waitMs for all together was ${waitMs} ms`,
        { line: error.line ?? '', cause: error },
      )
    }
    return this.#given(holds)
  }

  #given(holds: readonly Held[]): Holds {
    const given: Held[] = []
    for (const [i, held] of holds.entries()) given[this.#order[i] as number] = held
    return new Holds(given)
  }

  #checkDistinct(): void {
    for (const [i, lock] of this.#locks.entries()) {
      const last = this.#locks[i - 1]
      if (last === undefined || last.name !== lock.name || last.storeLabel !== lock.storeLabel) continue
      const reason = last.sharesLineWith(lock)
        ? 'is asked for twice, and would wait for itself'
        : 'is asked for on two stores of one kind and label, so callers may disagree on the order; give each its ' +
          'own label'
      throw new UsageError(`lock ${JSON.stringify(lock.name)} ${reason}`, { line: lock.name })
    }
  }
}

function compare(a: LineLock, b: LineLock): number {
  return (
    Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)) ||
    Buffer.compare(Buffer.from(a.storeLabel), Buffer.from(b.storeLabel))
  )
}

async function release(holds: readonly Held[]): Promise<void> {
  await Promise.all(holds.toReversed().map((held) => held.release()))
}
