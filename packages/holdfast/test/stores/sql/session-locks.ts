/** The cases that session locks of both servers have to pass. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { afterEach, expect, test } from 'vitest'
import { timesOut } from '../../../conformance/rig.ts'
import { AcquireTimeoutError, LockLostError, NotHeldError, UsageError } from '../../../src/contract/errors.ts'
import type { SessionHeld, SessionLocks } from '../../../src/stores/sql/session-locks.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { blockFor } from '../../blocked.ts'

export interface SessionLocksUnderTest {
  url(): string
  make(url: string, options?: { readonly keepAliveMs?: number; readonly timeoutMs?: number }): SessionLocks
  /** Ends the sessions of all session locks, as an administrator would. */
  terminate(): Promise<void>
  /** Resolves once so many sessions wait for a lock. */
  waiting(count: number): Promise<void>
}

export function sessionLockCases({ url, make, terminate, waiting }: SessionLocksUnderTest): void {
  const open: { close(): Promise<unknown> }[] = []
  afterEach(async () => {
    for (const closing of open.splice(0).toReversed()) await closing.close()
  })
  const locks = (at: string = url(), options = {}): SessionLocks => {
    const made = make(at, options)
    open.push(made)
    return made
  }
  const name = (): string => `session ${randomBytes(6).toString('hex')}`

  test('one at a time: between processes, and between the callers of one', async () => {
    const [a, b] = [locks(), locks()]
    const line = name()
    const first = await a.acquire(line)
    expect(await b.tryAcquire(line)).toBeNull()
    expect(await a.tryAcquire(line)).toBeNull()
    const other = await a.acquire(name())
    const order: string[] = []
    const visit = async (who: string, from: SessionLocks): Promise<SessionHeld> => {
      const held = await from.acquire(line)
      order.push(who)
      return held
    }
    const [second, third] = [visit('b', b), visit('a', a)]
    await waiting(1)
    // What waits does not stand in the way of what is let go.
    expect(await other.release()).toBe(true)
    expect(await first.release()).toBe(true)
    expect(await first.release()).toBe(false)
    expect(() => first.assertHeld()).toThrow(NotHeldError)
    const last = await Promise.race([second, third])
    expect(order).toHaveLength(1)
    await last.release()
    for (const held of await Promise.all([second, third])) await held.release()
    expect(order.toSorted()).toEqual(['a', 'b'])
    expect(await (await b.tryAcquire(line))?.release()).toBe(true)
  })

  test('40 callers of 4 processes: never two inside', async () => {
    const all = Array.from({ length: 4 }, () => locks())
    const line = name()
    let inside = 0
    const visit = async (from: SessionLocks): Promise<void> => {
      const held = await from.acquire(line)
      expect(++inside).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
      await held.release()
    }
    await Promise.all(Array.from({ length: 40 }, (_, i) => visit(all[i % 4] as SessionLocks)))
  })

  test('an administrator ends the session: the holder is told, the next has it, and the first goes on', async () => {
    const [a, b] = [locks(), locks()]
    const [line, second] = [name(), name()]
    const held = await a.acquire(line)
    const also = await a.acquire(second)
    const told = once(held.signal, 'abort')
    await terminate()
    await told
    expect([held.state, also.state]).toEqual(['lost', 'lost'])
    expect(held.signal.reason).toBeInstanceOf(LockLostError)
    expect(() => held.assertHeld()).toThrow(LockLostError)
    expect(await held.release()).toBe(false)
    const next = await b.acquire(line)
    expect(await a.tryAcquire(line)).toBeNull()
    await next.release()
    await (await a.acquire(line)).release()
  })

  test('a wait ends in time, or by its signal, and leaves nothing behind', async () => {
    const [a, b] = [locks(), locks()]
    const line = name()
    const held = await a.acquire(line)
    await expect(b.acquire(line, { waitMs: 0 })).rejects.toBeInstanceOf(AcquireTimeoutError)
    await timesOut((waitMs) => b.acquire(line, { waitMs }), 200)
    const stop = new AbortController()
    const waits = Promise.allSettled([
      b.acquire(line, { signal: stop.signal }),
      b.acquire(line, { signal: stop.signal }),
    ])
    await waiting(1)
    const enough = new Error('enough')
    stop.abort(enough)
    expect(await waits).toEqual(Array.from({ length: 2 }, () => ({ status: 'rejected', reason: enough })))
    await held.release()
    await (await b.acquire(line)).release()
    await expect(b.acquire('')).rejects.toBeInstanceOf(UsageError)
    await b.close()
    await expect(b.acquire(line)).rejects.toMatchObject({ code: 'HF_CLOSED' })
  })

  test('a process that is blocked past the time-out of an answer keeps its locks, and the rival waits on', async () => {
    const [a, b] = [locks(), locks()]
    const [line, also] = [name(), name()]
    const held = await a.acquire(line)
    const other = await a.acquire(also)
    let granted = false
    const rival = b.acquire(line).then((next) => {
      granted = true
      return next
    })
    await waiting(1)
    // A request is on its way, the server answers it, and nobody reads the answer: no I/O happens in these turns.
    const released = other.release()
    for (let i = 0; i < 50; i++) await Promise.resolve()
    blockFor(5_600)
    expect(await released).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect([held.state, granted]).toEqual(['held', false])
    held.assertHeld()
    expect(await held.release()).toBe(true)
    await (await rival).release()
  })

  test('a line that has gone dead is noticed by its silence', async () => {
    const { hostname, port } = new URL(url())
    const proxy = await faultProxy({ host: hostname, port: Number(port) })
    open.push(proxy)
    const a = locks(url().replace(`:${port}`, `:${proxy.port}`), { keepAliveMs: 100, timeoutMs: 300 })
    const held = await a.acquire(name())
    const told = once(held.signal, 'abort')
    await proxy.set({ toServer: 'drop', toClient: 'drop' })
    await told
    expect(held.state).toBe('lost')
  })
}
