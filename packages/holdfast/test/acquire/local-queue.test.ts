/** The callers of one process: what they share, what they are told, and that nothing of them stays behind. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { MemoryDriver, SharedLines } from '../../src/stores/memory/driver.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { AcquireTimeoutError, DeadlockError, holdfast } from '../../src/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

describe('a place handed on inside the process', () => {
  test('goes to the back of the line one ttl after its grant, however many wait for it here', async () => {
    const runtime = new ManualRuntime()
    const hub = new SharedLines()
    const [busy, other] = [
      await holdfast(new MemoryDriver(hub, runtime), { runtime, ttlMs: 1_000, handovers: 1_023 }),
      await holdfast(new MemoryDriver(hub, runtime), { runtime, ttlMs: 1_000 }),
    ]
    const order: string[] = []
    const first = await busy.mutex('a').acquire()
    const foreign = other.mutex('a').acquire()
    void foreign.then(() => order.push('other'))
    const work = async (): Promise<void> => {
      const held = await busy.mutex('a').acquire()
      order.push('busy')
      await new Promise<void>((resolve) => runtime.after(100, resolve))
      await held.release()
    }
    const works = Array.from({ length: 40 }, work)
    await first.release()
    await runtime.pass(1_500)
    await (await foreign).release()
    await runtime.pass(6_000)
    await Promise.all(works)
    const served = order.indexOf('other')
    expect(served).toBeGreaterThan(5)
    expect(served).toBeLessThanOrEqual(11)
  })
})

describe('callers that give up', () => {
  test('are forgotten at once, though the lock stays held', async () => {
    await using hf = await holdfast(memory())
    await using outer = await hf.mutex('a').acquire()
    const signals: WeakRef<AbortSignal>[] = []
    const giveUp = async (name: string): Promise<void> => {
      const controller = new AbortController()
      signals.push(new WeakRef(controller.signal))
      const waiting = hf.mutex(name).acquire({ signal: controller.signal })
      controller.abort(new Error('no more'))
      await expect(waiting).rejects.toThrow('no more')
    }
    const patient = new AbortController()
    const stays = hf.mutex('a').acquire({ signal: patient.signal })
    for (let i = 0; i < 500; i++) await giveUp('a')
    await hf.mutex('c').using(async () => {
      await using nested = await hf.mutex('c').acquire()
      for (let i = 0; i < 500; i++) await giveUp('c')
      nested.assertHeld()
    })
    outer.assertHeld()
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    expect(signals.filter((signal) => signal.deref() !== undefined).length).toBeLessThan(50)
    patient.abort(new Error('no more'))
    await expect(stays).rejects.toThrow('no more')
  })
})

describe('refuseDeadlock', () => {
  test('sees a caller that would wait for itself', async () => {
    await using hf = await holdfast(memory(), { refuseDeadlock: true })
    const strict = hf.mutex('a', { reentrant: false })
    await strict.using(async () => {
      await expect(strict.acquire()).rejects.toThrow(DeadlockError)
      await expect(hf.mutex('a', { reentrant: false }).acquire({ owner: {} })).rejects.toThrow(DeadlockError)
      expect(await strict.tryAcquire()).toBe(null)
    })
    const permits = hf.semaphore('s', 3)
    await permits.using(
      async () => {
        await expect(permits.acquire({ permits: 2 })).rejects.toThrow(DeadlockError)
        await (await permits.acquire()).release()
      },
      { permits: 2 },
    )
  })

  test('sees a second acquire inside one using; siblings that use it take turns', async () => {
    await using hf = await holdfast(memory(), { refuseDeadlock: true })
    const lock = hf.mutex('a')
    await lock.using(async () => {
      const nested = await lock.acquire()
      await expect(lock.acquire()).rejects.toThrow(DeadlockError)
      await nested.release()
      const turns: number[] = []
      await Promise.all([1, 2, 3].map((turn) => lock.using(() => turns.push(turn))))
      expect(turns).toEqual([1, 2, 3])
    })
  })

  test('is off unless asked for: the second one waits its time', async () => {
    await using hf = await holdfast(memory())
    const lock = hf.mutex('a')
    await lock.using(async () => {
      await using nested = await lock.acquire()
      await expect(lock.acquire({ waitMs: 20 })).rejects.toThrow(AcquireTimeoutError)
      nested.assertHeld()
    })
  })
})
