import { expect, test } from 'vitest'
import { memory } from '../../../src/drivers/memory/index.ts'
import { type Holdfast, holdfast, NotHeldError, UsageError } from '../../../src/index.ts'

/** How many stand in the line, holders and waiters. */
async function crowd(hf: Holdfast, name: string): Promise<number> {
  let count = 0
  for await (const line of hf.list({ prefix: name })) count += line.holders.length + line.waiters.length
  return count
}

test('a hold that is released while it becomes a write lock leaves no place behind', async () => {
  await using hf = await holdfast(memory())
  const lock = hf.rwLock('plan')
  let upgrading: Promise<unknown> = Promise.resolve()
  await lock.upgrade.using((held) => {
    upgrading = held.upgrade()
    upgrading.catch(() => {})
  })
  await expect(upgrading).rejects.toThrow(NotHeldError)
  expect(await crowd(hf, 'plan')).toBe(0)

  const reader = await lock.read.acquire()
  const held = await lock.upgrade.acquire()
  const waiting = held.upgrade()
  waiting.catch(() => {})
  await expect.poll(() => crowd(hf, 'plan')).toBe(3)
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
