/** Jobs on a schedule, with clocks that a test moves. */
import { expect, test } from 'vitest'
import type { Driver } from '../../../src/contract/driver.ts'
import { memory } from '../../../src/stores/memory/index.ts'
import {
  ClockError,
  holdfast,
  type OnceOptions,
  type Runtime,
  StoreUnreachableError,
  UsageError,
} from '../../../src/index.ts'
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
      run: ({ dueMs }) => void runs.push(`${i} ${new Date(dueMs).getUTCHours()}`),
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
    .write({ dueMs: 1_000, startedMs: 1_000, endedMs: null, ok: null, host: 'gone', pid: 7 }, 0n)
  const job = hf.job('job')
  const once = { rerun: false, untilMs: 2_000, waitMs: 0 }
  expect(await job.attempt(1_000, once, () => {})).toBe('run by others')
  let ran = false
  expect(await job.attempt(1_000, { ...once, rerun: true }, () => void (ran = true))).toBe('ran')
  expect(ran).toBe(true)
  expect(await job.attempt(1_000, { ...once, rerun: true }, () => {})).toBe('run by others')
  expect(await job.attempt(2_000, once, () => {})).toBe('ran')
  await hf.close()
})

test.each([
  [{ run: () => {} }, /either everyMs or cron/],
  [{ run: () => {}, everyMs: 1_000, cron: '* * * * *' }, /not both/],
  [{ run: () => {}, everyMs: 999 }, /everyMs/],
  [{ run: () => {}, everyMs: Number.NaN }, /everyMs/],
  [{ run: () => {}, cron: 'daily' }, /five fields/],
  [{ run: () => {}, cron: '@daily', timeZone: 'Mars/Olympus' }, /timeZone/],
  [{ run: () => {}, everyMs: 1_000, timeZone: 'UTC' }, /timeZone/],
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
    run: ({ dueMs }) => {
      periods.push(dueMs)
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

/** A process with a clock of its own, on a store that is down while `isDown`. */
async function host(clock: ManualRuntime, name: string, pid: number, aheadMs = 0) {
  const state = { isDown: false, isMute: false, aheadMs, hears: [] as unknown[], runs: [] as number[] }
  const runtime: Runtime = {
    now: () => clock.now(),
    wallNow: () => clock.wallNow() + state.aheadMs,
    after: (ms, fn) => clock.after(ms, fn),
    randomId: () => `${pid}`.padStart(8, '0') + clock.randomId().slice(8),
    random: () => 0.5,
    host: `host${pid}`,
    pid,
  }
  const inner = memory({ name, runtime })
  const driver = new Proxy(inner, {
    get(target, key: keyof Driver) {
      const member: unknown = target[key]
      if (typeof member !== 'function') return member
      const call = member.bind(target) as (...args: unknown[]) => unknown
      if (key === 'watch' || key === 'close') return call
      return async (...args: unknown[]) => {
        if (state.isDown) throw new StoreUnreachableError('down')
        const answer = await call(...args)
        // What was asked is done, and only a swap's answer is lost.
        if (state.isMute && key === 'swap') throw new StoreUnreachableError('no answer')
        return answer
      }
    },
  })
  const hf = await holdfast(driver, { runtime, ttlMs: 10_000 })
  const schedule = (options: Partial<OnceOptions> = {}) =>
    hf.once('job', {
      everyMs: 30_000,
      run: ({ dueMs }) => void state.runs.push(dueMs),
      onError: (error) => state.hears.push(error),
      ...options,
    })
  return { hf, state, schedule }
}

const START = Date.UTC(2026, 10, 16, 4, 30, 1)

test('an outage at the tick does not cost the period', async () => {
  const clock = new ManualRuntime()
  clock.wallMs = START
  const { hf, state, schedule } = await host(clock, 'once-outage', 1)
  schedule()
  await clock.pass(25_000)
  state.isDown = true
  await clock.pass(18_000)
  expect(state.runs).toEqual([])
  state.isDown = false
  await clock.pass(15_000)
  expect(state.runs).toEqual([START + 29_000])
  expect(state.hears.length).toBeGreaterThan(0)
  await clock.pass(30_000)
  expect(state.runs).toHaveLength(2)
  await hf.close()
})

test('an outage that outlasts its period does not cost the next one', async () => {
  const clock = new ManualRuntime()
  clock.wallMs = START
  const { hf, state, schedule } = await host(clock, 'once-long-outage', 1)
  schedule()
  // The lock is had, and then nothing of the store is heard until some seconds after the next tick.
  await clock.pass(25_000)
  state.isMute = true
  await clock.pass(36_000)
  expect(state.runs).toEqual([])
  state.isMute = false
  await clock.pass(20_000)
  expect(state.runs.at(-1)).toBe(START + 59_000)
  await hf.close()
})

test('answers that are lost before the work begins neither cost the period nor run it twice', async () => {
  const clock = new ManualRuntime()
  clock.wallMs = START
  const { hf, state, schedule } = await host(clock, 'once-lost-answers', 1)
  schedule()
  await clock.pass(25_000)
  state.isMute = true
  await clock.pass(18_000)
  expect(state.runs).toEqual([])
  state.isMute = false
  await clock.pass(15_000)
  expect(state.runs).toEqual([START + 29_000])
  await hf.close()
})

test('a runner that dies is replaced within the period if asked for, by a process that came second', async () => {
  for (const rerun of [true, false]) {
    const clock = new ManualRuntime()
    clock.wallMs = START
    const [dying, other] = [
      await host(clock, `once-dying-${rerun}`, 1),
      await host(clock, `once-dying-${rerun}`, 2, -100),
    ]
    let began = 0
    dying.schedule({ rerun, everyMs: 120_000, run: () => (began++, new Promise(() => {})) })
    other.schedule({ rerun, everyMs: 120_000 })
    await clock.pass(120_000)
    expect([began, other.state.runs.length]).toEqual([1, 0])
    // From now on nothing of it reaches the store.
    dying.state.isDown = true
    await clock.pass(40_000)
    expect(other.state.runs).toHaveLength(rerun ? 1 : 0)
    await other.hf.close()
  }
})

test('a host whose clock is far ahead is named aloud by the others', async () => {
  const clock = new ManualRuntime()
  clock.wallMs = START
  const [right, fast] = [await host(clock, 'once-fast', 1), await host(clock, 'once-fast', 2, 86_400_000)]
  fast.schedule()
  await clock.pass(40_000)
  expect(fast.state.runs).toHaveLength(1)
  right.schedule()
  await clock.pass(60_000)
  expect(right.state.runs).toEqual([])
  expect(right.state.hears.length).toBeGreaterThanOrEqual(2)
  expect(right.state.hears[0]).toBeInstanceOf(ClockError)
  expect(String(right.state.hears[0])).toMatch(/host2 \(pid 2\).*begins in \d+ s/)
  await right.hf.close()
  await fast.hf.close()
})

test('a process whose own clock is put back goes on', async () => {
  const clock = new ManualRuntime()
  clock.wallMs = START
  const { hf, state, schedule } = await host(clock, 'once-put-back', 1, 3_600_000)
  const once = schedule()
  await clock.pass(1_000)
  state.aheadMs = 0
  await clock.pass(61_000)
  expect(once.nextMs).toBeLessThanOrEqual(clock.wallNow() + 30_000)
  await clock.pass(60_000)
  expect(state.runs.length).toBeGreaterThanOrEqual(2)
  await hf.close()
})

test('a job that stops itself, or closes its instance, does not wait for its own end', async () => {
  const runtime = new ManualRuntime()
  const hf = await holdfast(memory({ name: 'once-self', runtime }), { runtime })
  const done: string[] = []
  const once = hf.once('stops', { everyMs: 1_000, run: async () => void (await once.stop(), done.push('stopped')) })
  await runtime.pass(2_000)
  hf.once('closes', { everyMs: 1_000, run: async () => void (await hf.close(), done.push('closed')) })
  await runtime.pass(2_000)
  expect(done).toEqual(['stopped', 'closed'])
})
