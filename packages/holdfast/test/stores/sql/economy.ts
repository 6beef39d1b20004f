/** What locks cost a SQL server, by its own count of statements: the cases for both. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Driver, Entry } from '../../../src/contract/driver.ts'
import { type Holdfast, holdfast, type LockOptions } from '../../../src/index.ts'

export interface Counted {
  url(): string
  driver(): Driver
  /** Statements that clients have sent since the server was started, this question not among them. */
  statements(): Promise<number>
}

function entryOf(line: string): Entry {
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 600_000, data: '{}' }
}

export function economyCases({ url, driver, statements }: Counted): void {
  const open: Holdfast[] = []
  afterEach(async () => {
    await Promise.all(open.splice(0).map((hf) => hf.close()))
  })
  async function on(options: LockOptions): Promise<Holdfast> {
    const hf = await holdfast(url(), options)
    open.push(hf)
    await hf.setup()
    return hf
  }
  async function spent(work: () => Promise<void>): Promise<number> {
    const before = await statements()
    await work()
    return (await statements()) - before
  }

  test('uncontended: one statement to enter, one to leave', async () => {
    const hf = await on({ ttlMs: 600_000 })
    const lock = hf.mutex('alone')
    // Statements are prepared, and the line is known, from then on.
    for (let i = 0; i < 3; i++) await (await lock.acquire()).release()
    const count = await spent(async () => {
      for (let i = 0; i < 50; i++) await (await lock.acquire()).release()
    })
    expect(count).toBeGreaterThanOrEqual(100)
    // A sign of life of the inbox may come in between.
    expect(count).toBeLessThanOrEqual(103)
  })

  test('256 enters of one turn, then 256 leaves: two statements each, on new names and on known ones', async () => {
    const store = driver()
    await store.setup?.()
    const visit = async (names: string): Promise<void> => {
      const entries = Array.from({ length: 256 }, (_, i) => entryOf(`${names} ${i}`))
      const places = await Promise.all(entries.map((entry) => store.enter(entry, true)))
      expect(places.every((place) => place?.ahead === 0)).toBe(true)
      await Promise.all(entries.map((entry) => store.leave(entry)))
    }
    // Connections are made, and statements prepared, from then on.
    await visit('first')
    expect(await spent(() => visit('second'))).toBe(4)
    expect(await spent(() => visit('second'))).toBe(4)
    await store.close()
  })

  test('contended, strict, by 4 clients with 10 contenders each: at most 3 statements a hand-over', async () => {
    const clients = await Promise.all(Array.from({ length: 4 }, () => on({ ttlMs: 600_000, fairness: 'strict' })))
    const visit = async (hf: Holdfast, times: number): Promise<void> => {
      for (let i = 0; i < times; i++) await hf.mutex('shared').using(() => undefined)
    }
    const crowd = (times: number): Promise<unknown> =>
      Promise.all(clients.flatMap((hf) => Array.from({ length: 10 }, () => visit(hf, times))))
    await crowd(2)
    const count = await spent(async () => {
      await crowd(10)
    })
    // At the ends, where the line is empty or nearly so, a client may ask twice.
    expect(count).toBeLessThanOrEqual(400 * 3 + 60)
  })

  test('1 000 waiters of one process: at most 4 statements a second while nothing happens', async () => {
    const [holder, waiter] = [await on({ ttlMs: 600_000 }), await on({ ttlMs: 600_000, fairness: 'strict' })]
    const held = await holder.mutex('idle').acquire()
    const waits = Promise.allSettled(Array.from({ length: 1_000 }, () => waiter.mutex('idle').acquire()))
    const waiting = async (): Promise<number> => {
      for await (const line of holder.list({ prefix: 'idle' })) return line.waiters.length
      return 0
    }
    await expect.poll(waiting, { timeout: 30_000, interval: 200 }).toBe(1_000)
    const seconds = 4
    expect(await spent(() => sleep(seconds * 1_000))).toBeLessThanOrEqual(4 * seconds)
    held.assertHeld()
    await waiter.close()
    await waits
  })

  test('500 callers that give up before they are asked for cost nothing, and keep nobody from asking', async () => {
    const [holder, waiter] = [await on({ ttlMs: 600_000 }), await on({ ttlMs: 600_000, fairness: 'strict' })]
    const held = await holder.mutex('left').acquire()
    const first = waiter.mutex('left').acquire()
    const waiting = async (): Promise<number> => {
      for await (const line of holder.list({ prefix: 'left' })) return line.waiters.length
      return 0
    }
    await expect.poll(waiting, { timeout: 30_000, interval: 200 }).toBe(1)
    const gone = new AbortController()
    const count = await spent(async () => {
      const calls = Array.from({ length: 500 }, () => waiter.mutex('left').acquire({ signal: gone.signal }))
      await sleep(1)
      gone.abort(new Error('enough'))
      expect((await Promise.allSettled(calls)).every(({ status }) => status === 'rejected')).toBe(true)
      const next = waiter.mutex('left').acquire()
      await held.release()
      await (await first).release()
      await (await next).release()
    })
    // It was a thousand.
    expect(count).toBeLessThanOrEqual(100)
    await expect.poll(waiting, { timeout: 30_000 }).toBe(0)
  })

  test('1 200 places that are renewed in one turn are one statement', async () => {
    const store = driver()
    await store.setup?.()
    const entries = Array.from({ length: 1_200 }, (_, i) => entryOf(`held ${i}`))
    for (let i = 0; i < entries.length; i += 100) {
      await Promise.all(entries.slice(i, i + 100).map((entry) => store.enter(entry, true)))
    }
    await store.touch(entries.slice(0, 1))
    // As core asks: 500 a call.
    const count = await spent(async () => {
      const batches = [entries.slice(0, 500), entries.slice(500, 1_000), entries.slice(1_000)]
      for (const places of await Promise.all(batches.map((batch) => store.touch(batch)))) {
        expect(places.every((place) => place !== null)).toBe(true)
      }
    })
    expect(count).toBe(1)
    await store.close()
  })
}
