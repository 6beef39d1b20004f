/** What a process reports to the store: small, seldom, and gone when the process is. */
import { expect, test } from 'vitest'
import { holdfast, type Report, type Reporter } from '../../src/index.ts'
import { reportKey, REPORTS_KEY } from '../../src/history/report.ts'
import type { LineView } from '../../src/contract/driver.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { FaultyDriver } from '../../conformance/faulty.ts'
import { ManualRuntime } from '../manual-runtime.ts'

/** Counts how often somebody asks who holds a lock. */
class ListedDriver extends FaultyDriver {
  lists = 0

  override list(prefix: string): AsyncIterable<LineView> {
    this.lists++
    return super.list(prefix)
  }
}

async function setUp({ label = 'web' } = {}) {
  const runtime = new ManualRuntime()
  const swaps = { count: 0 }
  const before = (_call: number, method: string): void => {
    if (method === 'swap') swaps.count++
  }
  const driver = new ListedDriver(memory({ runtime }), { before })
  const hf = await holdfast(driver, { runtime, report: true, label })
  const read = async (): Promise<Report> => {
    const { value: list = {} } = await hf.cell<Record<string, Reporter>>(REPORTS_KEY).read()
    const [id = ''] = Object.keys(list)
    expect(list[id]).toMatchObject({ host: 'manual', pid: 1, label })
    const { value } = await hf.cell<Report>(reportKey(id)).read()
    return value as Report
  }
  return { runtime, hf, driver, read, swaps }
}

test('holds, waits and what blocks them, and what happened, as documented', async () => {
  const { runtime, hf, read } = await setUp()
  const held = await hf.mutex('stock').acquire()
  const waiting = hf.mutex('stock').acquire()
  await runtime.pass(5_000)
  const report = await read()
  expect(report).toMatchObject({
    v: 1,
    host: 'manual',
    pid: 1,
    label: 'web',
    holds: [{ lock: 'stock', token: String(held.token) }],
    waits: [{ lock: 'stock', blockedBy: [{ host: 'manual', pid: 1, label: 'web' }] }],
    totals: { requested: 2, acquired: 1, waiting: 1 },
    omitted: 0,
  })
  expect(report.recent.map(({ event }) => event)).toEqual(['acquired', 'waiting'])
  await held.release()
  await (await waiting).release()
  await runtime.pass(5_000)
  expect(await read()).toMatchObject({ holds: [], waits: [], totals: { released: 2 } })
  await hf.close()
})

test('who goes on waiting in the store is one wait from its beginning, blocked by who holds now', async () => {
  const { runtime, hf, driver, read } = await setUp()
  // A fixed lease is handed on to nobody in the process.
  const lock = hf.mutex('stock', { renew: false, ttlMs: 600_000 })
  const mine = await lock.acquire()
  const others = await Promise.all(['first', 'second'].map((label) => holdfast(driver, { runtime, label })))
  const rivals = others.map((other) => other.mutex('stock').acquire())
  await runtime.pass(100)
  const sinceMs = runtime.wallNow()
  const waiting = lock.acquire()
  await runtime.pass(3_000)
  await mine.release()
  for (const [i, rival] of rivals.entries()) {
    const held = await rival
    await runtime.pass(15_000)
    const blockedBy = [{ label: i === 0 ? 'first' : 'second' }]
    expect((await read()).waits).toMatchObject([{ lock: 'stock', sinceMs, blockedBy }])
    await held.release()
  }
  await (await waiting).release()
  await runtime.pass(3_000)
  expect(await read()).toMatchObject({ waits: [], totals: { waiting: 2 } })
  for (const each of [hf, ...others]) await each.close()
})

test('many who wait for one lock ask once who holds it', async () => {
  const { runtime, hf, driver, read } = await setUp()
  const held = await hf.mutex('stock').acquire()
  const waiting = Array.from({ length: 100 }, () => hf.mutex('stock').acquire())
  await runtime.pass(9_000)
  expect(driver.lists).toBe(1)
  const { waits } = await read()
  expect(waits.map(({ blockedBy }) => blockedBy?.[0]?.label)).toEqual(waits.map(() => 'web'))
  expect(waits.length).toBeGreaterThan(10)
  await held.release()
  for (const one of waiting) await (await one).release()
  await hf.close()
})

test('who blocks is told within seconds, also if nothing else happens and the wall clock is put back', async () => {
  const { runtime, hf, read } = await setUp()
  const held = await hf.mutex('stock').acquire()
  // The report that is written at 2 000 ms has the wait, which is too short for a look.
  await runtime.pass(1_500)
  const waiting = hf.mutex('stock').acquire()
  await runtime.pass(1_000)
  expect((await read()).waits).toMatchObject([{ blockedBy: null }])
  runtime.wallMs -= 3_600_000
  await runtime.pass(4_000)
  expect((await read()).waits).toMatchObject([{ blockedBy: [{ label: 'web' }] }])
  await held.release()
  await (await waiting).release()
  await hf.close()
})

test('a thousand locks make a report of 8 kB at most, and no more writes', async () => {
  const { runtime, hf, read, swaps } = await setUp()
  const helds = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) => hf.mutex(`${'long '.repeat(20)}${i}`).acquire()),
  )
  await runtime.pass(3_000)
  const report = await read()
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThanOrEqual(8_192)
  expect(report.omitted).toBeGreaterThan(900)
  expect(report.totals['acquired']).toBe(1_000)
  swaps.count = 0
  for (let i = 0; i < 100; i++) {
    await hf.mutex('busy').using(() => undefined)
    await runtime.pass(200)
  }
  // 20 s, one write every 2 s.
  expect(swaps.count).toBeLessThanOrEqual(11)
  for (const held of helds) await held.release()
  await hf.close()
})

test('limiters: what was asked, what was refused, and for which keys', async () => {
  const { runtime, hf, read } = await setUp()
  const limiter = hf.limiter('api', { limit: 2, perMs: 60_000 })
  for (const key of ['alice', 'alice', 'alice', 'bob']) await limiter.take(key)
  await hf.limiter('api', { limit: 2, perMs: 60_000 }).take('carol')
  hf.limiter('unused', { limit: 1, perMs: 1_000 })
  await runtime.pass(3_000)
  expect(await read()).toMatchObject({
    limiters: [
      { name: 'api', limit: 2, perMs: 60_000, burst: 2, allowed: 4, refused: 1, keys: ['alice', 'carol', 'bob'] },
    ],
    omitted: 0,
  })
  // More limiters and keys than are reported.
  for (let i = 0; i < 40; i++) {
    const one = hf.limiter(`limiter-${i}`, { limit: 1_000, perMs: 1_000 })
    for (let k = 0; k < 100; k++) await one.take(`key-${k}`)
  }
  await runtime.pass(3_000)
  const { limiters, omitted } = await read()
  expect(limiters.length).toBeLessThanOrEqual(8)
  for (const { keys } of limiters) expect(keys.length).toBeLessThanOrEqual(8)
  expect(limiters[0]?.keys[0]).toBe('key-99')
  expect(omitted).toBeGreaterThanOrEqual(23)
  await hf.close()
})

test('the longest names there can be, each letter written as six, fit as well', async () => {
  const { runtime, hf, read } = await setUp({ label: '\u0001'.repeat(150) })
  const name = (i: number): string => '\u0001'.repeat(508) + String(i).padStart(4, '0')
  const helds = await Promise.all(Array.from({ length: 40 }, (_, i) => hf.mutex(name(i)).acquire()))
  const waiting = Array.from({ length: 40 }, (_, i) => hf.mutex(name(i)).acquire())
  const limiter = hf.limiter('\u0001'.repeat(200), { limit: 1, perMs: 1_000 })
  for (let i = 0; i < 20; i++) await limiter.take('\u0001'.repeat(250) + String(i))
  // Long enough that each wait has been looked at, and says who blocks it.
  await runtime.pass(30_000)
  const report = await read()
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThanOrEqual(8_192)
  expect(report.totals).toMatchObject({ acquired: 40, waiting: 40 })
  expect(report.omitted).toBeGreaterThan(70)
  for (const held of helds) await held.release()
  for (const one of waiting) await (await one).release()
  await hf.close()
})

test('an idle process writes every 10 s, and a closed one is forgotten', async () => {
  const { runtime, hf, read, swaps } = await setUp()
  await runtime.pass(5_000)
  await read()
  swaps.count = 0
  await runtime.pass(60_000)
  expect(swaps.count).toBeGreaterThanOrEqual(5)
  expect(swaps.count).toBeLessThanOrEqual(7)
  await hf.close()
  const timers = runtime.timersSet
  await runtime.pass(60_000)
  expect(runtime.timersSet).toBe(timers)
})

test('a host whose clock is an hour off strikes nobody out, and the dead are struck out all the same', async () => {
  const { runtime, hf, driver } = await setUp({ label: 'right' })
  const off = new ManualRuntime()
  off.wallMs += 3_600_000
  let ids = 0
  off.randomId = () => (++ids).toString(16).padEnd(32, 'f')
  const wrong = await holdfast(driver, { runtime: off, report: true, label: 'wrong' })
  const reader = await holdfast(driver, { runtime, label: 'reader' })
  const labels = async (): Promise<string[]> => {
    const { value = {} } = await reader.cell<Record<string, Reporter>>(REPORTS_KEY).read()
    return Object.values(value).map(({ label }) => label)
  }
  const pass = async (minutes: number, then: () => Promise<void> = async () => {}): Promise<void> => {
    for (let i = 0; i < minutes * 6; i++) {
      await runtime.pass(10_000)
      await off.pass(10_000)
      await then()
    }
  }
  // Each strikes the other out once, before it has seen that the other's entry changes.
  await pass(7)
  await pass(20, async () => expect((await labels()).toSorted()).toEqual(['right', 'wrong']))
  await hf.close()
  await pass(15)
  expect(await labels()).toEqual(['wrong'])
  await reader.cell(REPORTS_KEY).update(() => ({ dead: null, odd: { atMs: 'x' } }))
  await pass(4)
  expect(await labels()).toEqual(['wrong'])
  await wrong.close()
  await reader.close()
})
