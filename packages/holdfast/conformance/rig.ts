/** What a case works with: drivers and instances on the store under test, closed again when the case ends. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { AcquireTimeoutError, StoreUnreachableError } from '../src/contract/errors.ts'
import type { HoldfastOptions } from '../src/contract/options.ts'
import type { Driver, Entry, LineView, Traits } from '../src/contract/driver.ts'
import { type Holdfast, makeInstance } from '../src/holdfast.ts'

/** Names the store under test, so that a case can also open it in a child process. */
export interface StoreUnderTest {
  /** A built JS module whose default export makes a driver: `(config) => Driver`, or a promise of a driver. */
  readonly module: URL
  /** The argument for it; JSON. */
  readonly config?: unknown
}

/** How long anything that must happen may take on a busy machine. */
export const PATIENCE_MS = 30_000

export class Rig {
  readonly store: StoreUnderTest
  readonly #closers: (() => Promise<void>)[] = []

  constructor(store: StoreUnderTest) {
    this.store = store
  }

  /** A line or cell that no other case uses. */
  name(hint = 'line'): string {
    return `conformance/${hint}/${randomBytes(8).toString('hex')}`
  }

  /** A new client of the store: it shares nothing with the others but the store itself. */
  async driver(): Promise<Driver> {
    const loaded = (await import(this.store.module.href)) as { readonly default: unknown }
    if (typeof loaded.default !== 'function') {
      throw new TypeError(`${this.store.module.href} must export by default a function (config) => Driver`)
    }
    const driver = (await loaded.default(this.store.config)) as Driver
    this.#closers.push(() => driver.close())
    await driver.setup?.()
    return driver
  }

  async holdfast(options: HoldfastOptions = {}, wrap: (driver: Driver) => Driver = same): Promise<Holdfast> {
    const hf = makeInstance(wrap(await this.driver()), options)
    this.#closers.push(() => hf.close())
    return hf
  }

  async traits(): Promise<Traits> {
    return (await this.driver()).traits
  }

  /** Closed when the case ends, before what was made earlier. */
  onClose(close: () => Promise<void>): void {
    this.#closers.push(close)
  }

  async close(): Promise<void> {
    for (const close of this.#closers.toReversed()) await close()
  }
}

const same = (driver: Driver): Driver => driver

/** For leases that must outlast a busy machine. */
export const LONG_TTL_MS = 20_000

/** For leases that must lapse: the shortest that still leaves room for the requests around it. */
export function shortTtlMs(traits: Traits): number {
  return Math.max(traits.ttlMsMin, 250)
}

export function entry(line: string, over: Partial<Entry> = {}): Entry {
  const data = JSON.stringify({ label: 'conformance', host: 'here', pid: process.pid })
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: LONG_TTL_MS, data, ...over }
}

/** The line as people see it, or an empty one. */
export async function lineOf(from: Pick<Driver, 'list'>, name: string): Promise<LineView> {
  for await (const line of from.list(name)) if (line.name === name) return line
  return { name, capacity: 0, holders: [], waiters: [] }
}

/** How many stand in the line. */
export async function crowd(from: Pick<Driver, 'list'>, name: string): Promise<number> {
  const line = await lineOf(from, name)
  return line.holders.length + line.waiters.length
}

/** Waits until it is true; asks again and again, because the store can't call us. */
export async function until(what: string, isTrue: () => Promise<boolean> | boolean): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await isTrue())) {
    assert.ok(performance.now() < end, `not within ${PATIENCE_MS} ms: ${what}`)
    await pause(10)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/**
 * Others are in the way, so the attempt ends when its time is over. A store that has not answered within that time
 * tells nothing of others, and the error says so: only then, on a busy machine, the attempt gets more time.
 */
export async function timesOut(attempt: (waitMs: number) => Promise<unknown>, firstMs = 50): Promise<void> {
  for (let waitMs = firstMs; ; waitMs *= 4) {
    try {
      await attempt(waitMs)
    } catch (error) {
      if (error instanceof AcquireTimeoutError) return
      if (error instanceof StoreUnreachableError && waitMs < PATIENCE_MS) continue
      throw error
    }
    assert.fail(`it ended within ${waitMs} ms, although others stand in its way`)
  }
}

/**
 * Runs what needs a lease that lasts, with a lease so short that the case is short, too. If the machine is too busy to
 * renew in time, the case gets longer leases. A renewal that does not work fails with each of them.
 */
export async function outlasting(
  traits: Traits,
  firstMs: number,
  act: (ttlMs: number) => Promise<void>,
): Promise<void> {
  for (let ttlMs = Math.max(traits.ttlMsMin, firstMs); ; ttlMs *= 4) {
    try {
      await act(ttlMs)
      return
    } catch (error) {
      if (ttlMs >= 5_000) throw error
    }
  }
}

/** Fails rather than hangs, and says what did not happen. */
export async function within<T>(what: string, promise: Promise<T>, ms: number = PATIENCE_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new assert.AssertionError({ message: `not within ${ms} ms: ${what}` })), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
