import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import {
  type Held,
  type Holdfast,
  holdfast,
  LockLostError,
  NotHeldError,
  UnsupportedError,
  UsageError,
} from '../../src/index.ts'

/** How many stand in the line, holders and waiters. */
async function crowd(hf: Holdfast, name: string): Promise<number> {
  let count = 0
  for await (const line of hf.list({ prefix: name })) count += line.holders.length + line.waiters.length
  return count
}

test('a hold that is released while it becomes a write lock leaves no place behind', async () => {
  await using hf = await holdfast(memory())
  // Heartbeats come every 20 minutes: whoever is told by them only is told too late for this test.
  const lock = hf.rwLock('plan', { ttlMs: 3_600_000 })
  let upgrading: Promise<Held> | null = null
  await lock.upgrade.using((held) => {
    upgrading = held.upgrade()
  })
  // It was a write lock for a moment before the work ended.
  const write = await (upgrading as Promise<Held> | null)
  expect(() => write?.assertHeld()).toThrow(LockLostError)
  expect(await crowd(hf, 'plan')).toBe(0)

  const reader = await lock.read.acquire()
  const held = await lock.upgrade.acquire()
  const waiting = held.upgrade()
  waiting.catch(() => {})
  await expect
    .poll(async () => {
      const beside = await lock.read.tryAcquire()
      await beside?.release()
      return beside
    })
    .toBe(null)
  await held.release()
  await reader.release()
  await expect(waiting).rejects.toThrow(NotHeldError)
  expect(await crowd(hf, 'plan')).toBe(0)
})

test('a signal that has fired already is heard before anything is asked', async () => {
  await using hf = await holdfast(memory())
  const reason = new Error('no more')
  await hf.rwLock('plan').upgrade.using(async (held) => {
    await expect(held.upgrade({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    expect(held.state).toBe('held')
    expect(await crowd(hf, 'plan')).toBe(1)
  })
})

test('entered again it does not wait for its own writing, and no token comes twice', async () => {
  await using hf = await holdfast(memory())
  const { upgrade } = hf.rwLock('plan')
  await upgrade.using(async (outer) => {
    const write = await outer.upgrade()
    await upgrade.using(async (inner) => {
      await expect(inner.upgrade()).rejects.toThrow(UsageError)
    })
    write.assertHeld()
    await write.release()
    await upgrade.using(async (inner) => {
      expect((await inner.upgrade()).token).toBe(write.token + 1n)
    })
    outer.assertHeld()
  })
  expect(await crowd(hf, 'plan')).toBe(0)
})

test('a handle that was entered again, and let go while it became a write lock, leaves the hold reading', async () => {
  const driver = memory()
  const reweigh = driver.reweigh?.bind(driver)
  driver.reweigh = async (entry, turn) => {
    const place = (await reweigh?.(entry, turn)) ?? null
    await new Promise((resolve) => setTimeout(resolve, 10))
    return place
  }
  await using hf = await holdfast(driver)
  const lock = hf.rwLock('plan')
  await lock.upgrade.using(async (outer) => {
    const inner = await lock.upgrade.acquire()
    const upgrading = inner.upgrade()
    await inner.release()
    await expect(upgrading).rejects.toThrow(NotHeldError)
    outer.assertHeld()
    const reader = await lock.read.tryAcquire()
    expect(reader, 'readers are let in beside it').not.toBe(null)
    await reader?.release()
  })
})

// Readers of the same place would hold beside its writer.
test('a read lock or a write lock becomes no upgradeable one', async () => {
  await using hf = await holdfast(memory())
  const lock = hf.rwLock('plan')
  const beside = await lock.read.acquire()
  await lock.read.using(() => expect(lock.upgrade.acquire()).rejects.toThrow(UsageError))
  beside.assertHeld()
  await beside.release()
  await lock.write.using(() => expect(lock.upgrade.tryAcquire()).rejects.toThrow(UsageError))
  const owner = Symbol('reader')
  const held = await lock.read.acquire({ owner })
  await expect(lock.upgrade.acquire({ owner })).rejects.toThrow(UsageError)
  await held.release()
  // The other way round is what it is for.
  await lock.upgrade.using(() => lock.read.using(() => lock.upgrade.using((inner) => inner.assertHeld())))
})

test('an upgradeable hold is exported by none of its handles', async () => {
  await using hf = await holdfast(memory())
  const lock = hf.rwLock('plan')
  const owner = Symbol('reader')
  const held = await lock.upgrade.acquire({ owner })
  const other = await lock.read.acquire({ owner })
  await held.release()
  await expect(other.export()).rejects.toThrow(UnsupportedError)
  other.assertHeld()
  expect(await other.release()).toBe(true)
})
