/** Who holds hears of the first that waits at once, by the socket: in these tests no timer ever fires. */
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { testFolder } from './folder.ts'

const TTL_MS = 600_000
const path = join(testFolder(), 'locks.db')
const [a, b]: readonly [Holdfast, Holdfast] = [await holdfast(`sqlite:${path}`), await holdfast(`sqlite:${path}`)]
afterAll(() => Promise.all([a.close(), b.close()]))

// The file's version, by which an observer finds any change in the end, is asked for by a timer.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] }))
afterEach(() => void vi.useRealTimers())

test('a kept lock is given to who comes, again and again', async () => {
  for (let i = 0; i < 3; i++) {
    await (await a.mutex('kept', { keep: true, ttlMs: TTL_MS }).acquire()).release()
    const held = await b.mutex('kept', { ttlMs: TTL_MS }).acquire()
    expect(held.state).toBe('held')
    await held.release()
  }
})

test('a holder is told that somebody waits, and so is each holder of a permit', async () => {
  const semaphore = (hf: Holdfast) => hf.semaphore('permits', 2, { ttlMs: TTL_MS })
  const first = await semaphore(a).acquire()
  const second = await semaphore(a).acquire()
  const told = [first, second].map(
    ({ wanted }) => new Promise((resolve) => wanted.addEventListener('abort', resolve, { once: true })),
  )
  // Nobody is told of what has become a hold at once.
  const beside = await b.mutex('beside', { ttlMs: TTL_MS }).acquire()
  expect([first.wanted.aborted, second.wanted.aborted]).toEqual([false, false])
  await beside.release()
  const waiting = semaphore(b).acquire()
  await Promise.all(told)
  await first.release()
  await (await waiting).release()
  await second.release()
})
