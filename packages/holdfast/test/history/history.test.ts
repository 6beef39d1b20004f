/** What an instance remembers, and what other programs make of it. */
import { expect, test } from 'vitest'
import { type HistoryEntry, holdfast, UsageError } from '../../src/index.ts'
import { toTortureHistory, toTrace } from '../../src/history/export.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { judge } from '../../../holdfast-lab/src/torture/checker/judge.ts'
import { parseHistory } from '../../../holdfast-lab/src/torture/history/read.ts'

const kinds = (entries: readonly HistoryEntry[]): string[] => entries.map(({ event }) => event)

test('what happened to a lock is read back in order, and other instances have theirs', async () => {
  const driver = memory()
  await using hf = await holdfast(driver, { history: true })
  await using other = await holdfast(memory(), { history: 10 })
  const held = await hf.mutex('m').acquire()
  const waiting = hf.mutex('m').acquire()
  await hf.mutex('n').using(() => undefined)
  await held.release()
  await (await waiting).release()
  expect(kinds(hf.history('m'))).toEqual([
    'requested',
    'acquired',
    'requested',
    'waiting',
    'released',
    'acquired',
    'released',
  ])
  expect(hf.history('m').at(-1)).toMatchObject({ lock: 'm', event: 'released', ms: expect.any(Number) as number })
  expect(hf.history('m').at(-2)).toMatchObject({ by: 'process', token: held.token + 1n })
  expect(kinds(hf.history('n'))).toEqual(['requested', 'acquired', 'released'])
  expect(hf.history().length).toBe(10)
  expect(other.history()).toEqual([])
})

test('it is bounded: the oldest goes', async () => {
  await using hf = await holdfast(memory(), { history: 6 })
  for (let i = 0; i < 5; i++) await hf.mutex(`m${i}`).using(() => undefined)
  expect(hf.history().map(({ lock, event }) => `${event} ${lock}`)).toEqual([
    'requested m3',
    'acquired m3',
    'released m3',
    'requested m4',
    'acquired m4',
    'released m4',
  ])
})

test('nothing is remembered unless asked for', async () => {
  await using hf = await holdfast(memory())
  expect(() => hf.history('m')).toThrow(UsageError)
  await expect(holdfast(memory(), { history: 0 })).rejects.toThrow(UsageError)
  await expect(holdfast(memory(), { history: 'yes' as never })).rejects.toThrow(UsageError)
  await expect(holdfast(memory(), { report: 1 as never })).rejects.toThrow(UsageError)
  await using inUrl = await holdfast('memory:?history=5')
  expect(inUrl.history()).toEqual([])
})

test('a trace has a bar for each wait and each hold, where it was', async () => {
  await using hf = await holdfast(memory(), { history: true })
  const held = await hf.mutex('m').acquire()
  const waiting = hf.mutex('m').acquire()
  await new Promise((resolve) => setTimeout(resolve, 30))
  await held.release()
  await (await waiting).release()
  const entries = hf.history()
  const { traceEvents } = JSON.parse(toTrace([{ host: 'h', pid: 7, label: 'web', entries }])) as {
    traceEvents: {
      ph: string
      name: string
      pid: number
      tid: number
      ts: number
      dur: number
      args: { name?: string }
    }[]
  }
  const names = traceEvents.filter(({ ph }) => ph === 'M').map(({ args }) => args.name)
  expect(names.toSorted((a = '', b = '') => a.localeCompare(b))).toEqual(['m: hold', 'm: wait', 'web (h:7)'])
  const waits = traceEvents.filter(({ name, ph }) => ph === 'X' && name === 'wait: acquired')
  expect(waits.length).toBe(2)
  const long = waits[1]
  expect(long?.dur).toBeGreaterThanOrEqual(29_000)
  const first = entries.find(
    ({ event, request }) =>
      event === 'requested' && request === entries.findLast((one) => one.event === 'requested')?.request,
  )
  expect(Math.abs((long?.ts ?? 0) / 1e3 - (first?.atMs ?? 0))).toBeLessThan(20)
  for (const event of traceEvents) expect(event.pid).toBe(7)
})

interface Bar {
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly ts: number
  readonly dur: number
}

test('bars of one row never cross, and processes of the same number stay apart', async () => {
  await using hf = await holdfast(memory(), { history: true })
  const held = await hf.mutex('m').acquire()
  const waiting: Promise<{ release(): Promise<boolean> }>[] = []
  for (let i = 0; i < 3; i++) {
    waiting.push(hf.mutex('m').acquire())
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await held.release()
  // Permits that are held at the same time, and end in the order in which they began.
  for (const one of waiting) {
    const permits = [await hf.semaphore('s', 2).acquire()]
    await (await one).release()
    permits.push(await hf.semaphore('s', 2).acquire())
    await new Promise((resolve) => setTimeout(resolve, 5))
    for (const permit of permits) await permit.release()
  }
  const entries = hf.history()
  const processes = ['a', 'b', ''].map((label) => ({ host: `h${label}`, pid: 1, label, entries }))
  const { traceEvents } = JSON.parse(toTrace(processes)) as { traceEvents: (Bar & { args: { name?: string } })[] }
  const bars = traceEvents.filter(({ ph }) => ph === 'X')
  expect(bars.length).toBe(60)
  expect(new Set(bars.map(({ pid }) => pid)).size).toBe(3)
  const crossing = bars.filter((bar, i) =>
    bars.some(
      (other, k) =>
        k !== i &&
        `${other.pid} ${other.tid}` === `${bar.pid} ${bar.tid}` &&
        other.ts < bar.ts &&
        bar.ts < other.ts + other.dur,
    ),
  )
  expect(crossing).toEqual([])
  const names = traceEvents.filter(({ ph }) => ph === 'M').map(({ args }) => args.name)
  expect(names).toEqual(expect.arrayContaining(['a (ha:1)', 'b (hb:1)', 'h:1', 'm: wait', 'm: wait 2', 's: hold 2']))
})

async function played(): Promise<HistoryEntry[]> {
  const hf = await holdfast(memory(), { history: true, ttlMs: 600 })
  await Promise.all([1, 2, 3].map(() => hf.mutex('m').using(() => undefined)))
  await hf.semaphore('s', 2).using(() => undefined)
  await hf.rwLock('r').write.using(() => undefined)
  await hf.rwLock('r').read.using(() => undefined)
  const held = await hf.mutex('m').acquire()
  await hf.mutex('m').tryAcquire()
  await held.release()
  await hf.close()
  return hf.history()
}

test('the torture checker judges what a process saw, and sees a violation in it', async () => {
  const entries = await played()
  const subject = { host: 'h', pid: 7, ttlMs: 600 }
  const fine = judge(parseHistory(Buffer.from(toTortureHistory({ ...subject, entries }))))
  expect(fine.violations).toEqual([])
  expect(fine.counts.granted).toBe(6)
  // The same with the first release of the mutex left out until its end: two hold at once.
  const at = entries.findIndex(({ event, lock }) => event === 'released' && lock === 'm')
  const late = { ...(entries[at] as HistoryEntry), monoMs: (entries.at(-1)?.monoMs ?? 0) + 1 }
  const forged = [...entries.slice(0, at), ...entries.slice(at + 1), late]
  const wrong = judge(parseHistory(Buffer.from(toTortureHistory({ ...subject, entries: forged }))))
  expect(wrong.violations.length).toBeGreaterThan(0)
})
