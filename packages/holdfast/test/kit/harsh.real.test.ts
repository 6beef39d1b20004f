/**
 * The kit in harsh conditions, on a real server behind proxies: batches of a limiter on a slow way, and jobs with
 * outages at the tick and wrong clocks.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type FaultProxy, faultProxy } from '../../../holdfast-lab/src/testbed/proxy.ts'
import { requireServers } from '../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../holdfast-lab/src/testbed/testbed.ts'
import type { Driver, Place } from '../../src/contract/driver.ts'
import { ClockError, type Holdfast, holdfast, type Runtime } from '../../src/index.ts'
import { redis } from '../../src/stores/redis/index.ts'
import { system } from '../../src/system.ts'

const PATIENCE_MS = 30_000
/** Answers that no probe has met may be slower than those that it did. */
const SLACK_MS = 300

let bed: Testbed
let server: Server
let proxies: FaultProxy[] = []
let open: Holdfast[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
})

beforeEach(() => {
  proxies = []
  open = []
})

afterEach(async () => {
  for (const proxy of proxies) await proxy.heal()
  for (const hf of open) await hf.close()
  for (const proxy of proxies) await proxy.close()
})

afterAll(() => bed?.close())

/** The store's driver reads the clock of the host, which is as wrong as the process has it. */
function wrongBy(ms: number, driver: Driver): Driver {
  const late = <P extends Place | null>(place: P): P =>
    place === null ? place : { ...place, since: { ...place.since, wallMs: place.since.wallMs + ms } }
  const own: Pick<Driver, 'enter' | 'touch'> = {
    enter: async (entry, wait) => late(await driver.enter(entry, wait)),
    touch: async (entries) => (await driver.touch(entries)).map(late),
  }
  return new Proxy(driver, {
    get: (_, key) => {
      const member: unknown = Reflect.get(key in own ? own : driver, key)
      return typeof member === 'function' ? (member.bind(driver) as unknown) : member
    },
  })
}

/** A process whose wall clock is wrong by so much, on a way of its own. */
async function processes(...aheadMs: number[]): Promise<Holdfast[]> {
  for (const ms of aheadMs) {
    const proxy = await faultProxy({ port: server.port })
    const runtime: Runtime = { ...system, wallNow: () => system.wallNow() + ms }
    proxies.push(proxy)
    open.push(await holdfast(wrongBy(ms, redis(`redis://127.0.0.1:${proxy.port}`)), { runtime }))
  }
  return open
}

test('a limiter in batches on ways of 0, 0.3 and 0.7 s: the limit holds, every take ends, all are served', async () => {
  const [limit, perMs, holdMs, runsMs] = [30, 1_000, 200, 5_000]
  const instances = await processes(0, 0, 0)
  for (const [i, proxy] of proxies.entries()) await proxy.set({ delayMs: { toClient: [0, 300, 700][i] as number } })
  const allowed: { readonly by: number; readonly at: number }[] = []
  let answerMs = 0
  const startedAt = performance.now()
  /** The slowest asks a handful of times in the run: on a busy machine all go on until it has had its turn. */
  const isOver = (): boolean => {
    const ranMs = performance.now() - startedAt
    const isEachServed = [...instances.keys()].every((by) => allowed.some((one) => one.by === by))
    return ranMs >= runsMs && (isEachServed || ranMs >= PATIENCE_MS)
  }
  const work = async (hf: Holdfast, by: number): Promise<void> => {
    const limiter = hf.limiter('hot', { limit, perMs, batch: { size: 15, holdMs } })
    while (!isOver()) {
      const { allowed: isAllowed, retryAfterMs } = await limiter.take('k')
      const at = performance.now()
      if (isAllowed) allowed.push({ by, at })
      await sleep(isAllowed ? 2 : Math.min(100, retryAfterMs + 1))
    }
  }
  /** How long the store takes to answer: so much later may be used what was taken. */
  const probe = async (hf: Holdfast): Promise<void> => {
    while (!isOver()) {
      const askedAt = performance.now()
      await hf.cell('probe').read()
      answerMs = Math.max(answerMs, performance.now() - askedAt + SLACK_MS)
    }
  }
  const takers = instances.flatMap((hf, by) => Array.from({ length: 3 }, () => work(hf, by)))
  const all = Promise.all([...takers, ...instances.map(probe)])
  const isEnded = await Promise.race([all.then(() => true), sleep(2 * PATIENCE_MS, false)])
  expect(isEnded, 'every take ends').toBe(true)
  const times = allowed.map(({ at }) => at).toSorted((a, b) => a - b)
  for (const [i, from] of times.entries()) {
    for (const [j, to] of times.entries()) {
      if (j <= i) continue
      const most = limit + (limit * (to - from + holdMs + answerMs)) / perMs
      if (j - i + 1 > most + 1) expect.fail(`${j - i + 1} were let through within ${to - from} ms, at most ${most}`)
    }
  }
  for (const by of instances.keys()) {
    expect(allowed.filter((one) => one.by === by).length, `process ${by} was served`).toBeGreaterThan(0)
  }
  expect(allowed.length, 'the quota is used').toBeGreaterThan((limit * runsMs) / perMs / 3)
})

/**
 * Runs a job in every process until so many periods are over by the true clock; what was run, and what each was told.
 */
async function runJobs(
  name: string,
  instances: readonly Holdfast[],
  everyMs: number,
  periods: number,
  atTick: (nthTick: number) => Promise<void>,
): Promise<{ readonly runs: number[]; readonly told: readonly unknown[][] }> {
  const runs: number[] = []
  const told: unknown[][] = instances.map(() => [])
  const startsAt = (Math.floor(system.wallNow() / everyMs) + 1) * everyMs
  for (const [i, hf] of instances.entries()) {
    hf.once(name, {
      everyMs,
      ttlMs: everyMs,
      run: ({ dueMs }) => void runs.push(dueMs),
      onError: (error) => void told[i]?.push(error),
    })
  }
  for (let n = 0; n < periods; n++) {
    await sleep(Math.max(0, startsAt + n * everyMs - 300 - system.wallNow()))
    await atTick(n)
  }
  await sleep(Math.max(0, startsAt + periods * everyMs - 300 - system.wallNow()))
  return { runs, told }
}

test('a job whose store is away at every tick is run in each period, once', { timeout: 120_000 }, async () => {
  // A busy machine needs its time to notice that answers do not come, and to connect again, all within the period.
  const [everyMs, periods] = [8_000, 3]
  // Clocks are as far apart as is usual without care.
  const instances = await processes(0, 150, -150)
  const { runs } = await runJobs('outages', instances, everyMs, periods, async (n) => {
    // Refused, silent, or answers that do not come: each in its turn.
    const faults = [{ accept: false }, { toServer: 'hold', toClient: 'hold' }, { toClient: 'drop' }] as const
    await Promise.all(proxies.map((proxy) => proxy.set(faults[n % 3] as (typeof faults)[number])))
    if (n % 3 === 0) for (const proxy of proxies) proxy.reset()
    await sleep(1_300)
    await Promise.all(proxies.map((proxy) => proxy.heal()))
  })
  expect(new Set(runs).size, 'no period is run twice').toBe(runs.length)
  const first = Math.min(...runs)
  // On a busy machine the next one may have begun before the test looks.
  expect(runs.length).toBeGreaterThanOrEqual(periods)
  expect(runs.toSorted((a, b) => a - b)).toEqual(runs.map((_, n) => first + n * everyMs))
})

test('clocks that are wrong by minutes: no period is run twice, and who does not run is told why', async () => {
  const [everyMs, periods] = [2_000, 3]
  const instances = await processes(0, 3 * 60_000, -4 * 60_000)
  const { runs, told } = await runJobs('clocks', instances, everyMs, periods, () => Promise.resolve())
  expect(new Set(runs).size, 'no period is run twice').toBe(runs.length)
  expect(runs.length, 'the job is run').toBeGreaterThanOrEqual(periods - 1)
  // The one that is ahead runs it; the others say whose clock differs.
  const [right, ahead, behind] = told
  expect(ahead).toEqual([])
  for (const errors of [right, behind]) {
    expect(errors?.length).toBeGreaterThan(0)
    for (const error of errors ?? []) expect(error).toBeInstanceOf(ClockError)
  }
})
