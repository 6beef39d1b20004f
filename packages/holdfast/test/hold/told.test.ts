/** What callers give: a signal that many wait by, and a listener that fails. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import type { Holdfast } from '../../src/holdfast.ts'
import { holdfast } from '../../src/open.ts'

type Wait = (hf: Holdfast, signal: AbortSignal, nth: number) => Promise<unknown>

test.each<readonly [string, Wait]>([
  ['a lock', (hf, signal) => hf.mutex('one').acquire({ signal })],
  ['several locks', (hf, signal) => hf.all([hf.mutex('one'), hf.mutex('two')]).acquire({ signal })],
  ['a latch', (hf, signal) => hf.latch('one', 1).wait({ signal })],
  ['a barrier', (hf, signal) => hf.barrier('one', 100).wait({ signal })],
  ['a limit', (hf, signal) => hf.limiter('one', { limit: 1, perMs: 60_000 }).acquire('key', { signal })],
  [
    'an upgrade',
    async (hf, signal, nth) => {
      await hf.rwLock(`plan ${nth}`).read.acquire()
      const held = await hf.rwLock(`plan ${nth}`).upgrade.acquire()
      return held.upgrade({ signal })
    },
  ],
])('50 wait for %s by one signal, and nobody is warned of it', async (_, wait) => {
  const warnings: Error[] = []
  const warned = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  const hf = await holdfast(memory())
  await hf.mutex('one').acquire()
  await hf.limiter('one', { limit: 1, perMs: 60_000 }).take('key')
  const stop = new AbortController()
  const waiting = Array.from({ length: 50 }, (_each, nth) => wait(hf, stop.signal, nth))
  for (const one of waiting) one.catch(() => undefined)
  // So long that each of them waits: an upgrade is more than one step.
  await new Promise((resolve) => setTimeout(resolve, 20))
  stop.abort(new Error('enough'))
  for (const one of await Promise.allSettled(waiting)) expect(one).toMatchObject({ reason: { message: 'enough' } })
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
  await hf.close()
})

test('an async onState that rejects is told by diagnostics, and harms nobody', async () => {
  const failures: unknown[] = []
  const failed = (message: unknown): unknown => failures.push((message as { error: unknown }).error)
  subscribe('holdfast:error', failed)
  onTestFinished(() => void unsubscribe('holdfast:error', failed))
  const rejected: unknown[] = []
  const onRejection = (reason: unknown): unknown => rejected.push(reason)
  process.on('unhandledRejection', onRejection)
  onTestFinished(() => void process.off('unhandledRejection', onRejection))
  const hf = await holdfast(memory())
  const fault = new Error('the listener failed')
  const onState = (async () => {
    await Promise.resolve()
    throw fault
  }) as () => void
  const held = await hf.mutex('told', { onState }).acquire()
  await held.release()
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(rejected).toEqual([])
  expect(failures).toContain(fault)
  await hf.close()
})

test('close() tells work that still runs: its signal aborts, also one that is asked for afterwards', async () => {
  const hf = await holdfast(memory())
  const heard = await hf.mutex('heard').acquire()
  const late = await hf.mutex('late').acquire()
  const mine = await hf.mutex('mine').acquire()
  const { signal } = heard
  const released = mine.signal
  await mine.release()
  await hf.close()
  expect(signal.reason).toMatchObject({ code: 'HF_CLOSED' })
  expect(late.signal.reason).toMatchObject({ code: 'HF_CLOSED' })
  expect([heard.state, late.state]).toEqual(['released', 'released'])
  expect(released.aborted).toBe(false)
})

test('close() ends the work of an elected leader', async () => {
  const hf = await holdfast(memory())
  const heard = await new Promise((resolve, reject) => {
    const run = hf.election('leader').run(async (_held, signal) => {
      signal.addEventListener('abort', () => resolve(signal.reason))
      await hf.close()
    })
    run.catch(reject)
  })
  expect(heard).toMatchObject({ code: 'HF_CLOSED' })
})
