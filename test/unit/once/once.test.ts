/** Jobs on a schedule, with clocks that a test moves. */
import { expect, test } from 'vitest'
import { memory } from '../../../src/drivers/memory/index.ts'
import { holdfast, type OnceOptions, type Runtime, UsageError } from '../../../src/index.ts'
import { ManualRuntime } from '../../manual-runtime.ts'

const HOUR_MS = 3_600_000

test('each period is run once, though every process has the job and their clocks differ', async () => {
  const clock = new ManualRuntime()
  clock.wallMs = Date.UTC(2026, 10, 16, 4, 30)
  const runs: string[] = []
  const processes = []
  for (const [i, aheadMs] of [0, 7_000, -9_000].entries()) {
    const runtime: Runtime = {
      now: () => clock.now(),
      wallNow: () => clock.wallNow() + aheadMs,
      after: (ms, fn) => clock.after(ms, fn),
      randomId: () => clock.randomId(),
      random: () => 0.5,
      host: 'manual',
      pid: i,
    }
    const hf = await holdfast(memory({ name: 'once-periods', runtime }), { runtime })
    const once = hf.once('report', {
      everyMs: HOUR_MS,
      run: ({ periodMs }) => void runs.push(`${i} ${new Date(periodMs).getUTCHours()}`),
    })
    processes.push({ hf, once })
  }
  await clock.pass(150 * 60_000)
  expect(runs.map((run) => run.split(' ')[1])).toEqual(['5', '6', '7'])
  expect(await processes[0]?.once.lastRun()).toMatchObject({ ok: true, pid: 1, host: 'manual' })
  expect(Object.keys((await processes[1]?.hf.jobs()) ?? {})).toEqual(['report'])
  for (const { hf } of processes) await hf.close()
})

test('a run that fails is told, is not repeated, and the next period comes', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ name: 'once-failures' }), { runtime })
  const errors: unknown[] = []
  let runs = 0
  const once = hf.once('bad', {
    everyMs: 10_000,
    run: () => {
      runs++
      throw new Error('no')
    },
    onError: (error) => errors.push(error),
  })
  await runtime.pass(21_000)
  expect([runs, errors.length]).toEqual([2, 2])
  expect(await once.lastRun()).toMatchObject({ ok: false })
  await once.stop()
  await runtime.pass(60_000)
  expect(runs).toBe(2)
  await hf.close()
})

test('a period whose process died is run again only if that is asked for', async () => {
  const hf = await holdfast(memory({ name: 'once-deaths' }))
  await hf
    .cell('holdfast/once/job')
    .write({ periodMs: 1_000, startedMs: 1_000, endedMs: null, ok: null, host: 'gone', pid: 7 }, 0n)
  const job = hf.job('job')
  expect(await job.attempt(1_000, false, () => {})).toBe(false)
  let ran = false
  expect(await job.attempt(1_000, true, () => void (ran = true))).toBe(true)
  expect(ran).toBe(true)
  expect(await job.attempt(1_000, true, () => {})).toBe(false)
  expect(await job.attempt(2_000, false, () => {})).toBe(true)
  await hf.close()
})

test.each([
  [{ run: () => {} }, /either everyMs or cron/],
  [{ run: () => {}, everyMs: 1_000, cron: '* * * * *' }, /not both/],
  [{ run: () => {}, everyMs: 999 }, /everyMs/],
  [{ run: () => {}, everyMs: Number.NaN }, /everyMs/],
  [{ run: () => {}, cron: 'daily' }, /five fields/],
  [{ everyMs: 1_000 }, /run/],
  [{ run: () => {}, everyMs: 1_000, rerun: 'yes' }, /rerun/],
  [{ run: () => {}, everyMs: 1_000, often: true }, /no option "often"/],
])('%j is refused', async (options, message) => {
  const hf = await holdfast('memory:')
  expect(() => hf.once('x', options as unknown as OnceOptions)).toThrow(message)
  expect(() => hf.once('x', options as unknown as OnceOptions)).toThrow(UsageError)
  await hf.close()
})

test('periods that begin while a run still goes on are passed over, without a busy loop', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ name: 'once-long', runtime }), { runtime, ttlMs: 600_000 })
  const periods: number[] = []
  let finish = (): void => {}
  const once = hf.once('long', {
    everyMs: 10_000,
    run: ({ periodMs }) => {
      periods.push(periodMs)
      return new Promise<void>((resolve) => {
        finish = resolve
      })
    },
  })
  await runtime.pass(10_000)
  const timers = runtime.timersSet
  await runtime.pass(35_000)
  expect(periods).toHaveLength(1)
  expect(runtime.timersSet - timers).toBeLessThan(10)
  finish()
  await runtime.pass(10_000)
  expect(periods).toHaveLength(2)
  expect((periods[1] ?? 0) - (periods[0] ?? 0)).toBeGreaterThanOrEqual(40_000)
  finish()
  await once.stop()
  await hf.close()
})
