/** What callers give: a signal that many wait by, and a listener that fails. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { holdfast } from '../../src/open.ts'

test('50 wait by one signal, and nobody is warned of it', async () => {
  const warnings: Error[] = []
  const warned = (warning: Error): unknown => warnings.push(warning)
  process.on('warning', warned)
  onTestFinished(() => void process.off('warning', warned))
  const hf = await holdfast(memory())
  const held = await hf.mutex('one').acquire()
  const stop = new AbortController()
  const waiting = Array.from({ length: 50 }, () => hf.mutex('one').acquire({ signal: stop.signal }))
  await new Promise((resolve) => setImmediate(resolve))
  stop.abort(new Error('enough'))
  for (const one of await Promise.allSettled(waiting)) expect(one).toMatchObject({ reason: { message: 'enough' } })
  await new Promise((resolve) => setImmediate(resolve))
  expect(warnings).toEqual([])
  await held.release()
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
