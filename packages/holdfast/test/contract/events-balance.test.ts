/** Every request ends once, every hold ends once, whatever the way: seen from outside, by subscribing. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, expect, test } from 'vitest'
import { FaultyDriver } from '../../conformance/faulty.ts'
import { channels } from '../../src/contract/events.ts'
import { cellMemory, proofOf } from '../../src/fence/index.ts'
import { type Events, type Holdfast, holdfast, StoreError } from '../../src/index.ts'
import { memory } from '../../src/stores/memory/index.ts'

interface Told {
  readonly event: string
  readonly lock: string
  readonly request: number
  readonly token: bigint
  readonly [more: string]: unknown
}

const ENDS = ['acquired', 'refused', 'timed-out', 'aborted', 'failed']
const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

function listen(): Told[] {
  const all: Told[] = []
  for (const event of Object.keys(channels)) {
    const listener = (message: unknown): void => void all.push({ ...(message as Told), event })
    subscribe(`holdfast:${event}`, listener)
    stops.push(() => unsubscribe(`holdfast:${event}`, listener))
  }
  return all
}

const of = (all: readonly Told[], event: string): Told[] => all.filter((told) => told.event === event)

function expectBalance(all: readonly Told[]): void {
  const requested = of(all, 'requested').map(({ request }) => request)
  const ended = all.filter(({ event }) => ENDS.includes(event)).map(({ request }) => request)
  expect(new Set(requested).size).toBe(requested.length)
  expect(ended.toSorted((a, b) => a - b)).toEqual(requested.toSorted((a, b) => a - b))
  for (const { request } of of(all, 'waiting')) expect(requested).toContain(request)
  const key = ({ lock, token }: Told): string => `${lock} ${token}`
  const begun = of(all, 'acquired').map(key).toSorted()
  expect([...of(all, 'released'), ...of(all, 'lost')].map(key).toSorted(), 'each hold that began has ended').toEqual(
    begun,
  )
}

const WAYS: Record<string, (hf: Holdfast) => Promise<unknown>> = {
  're-entry': (hf) => hf.mutex('m').using(() => hf.mutex('m').using(() => undefined)),
  'a re-entry that is refused': (hf) =>
    hf.rwLock('m').read.using(() =>
      hf
        .rwLock('m')
        .write.acquire()
        .catch((error: unknown) => error),
    ),
  'a lock inside another': (hf) => hf.mutex('a').using(() => hf.mutex('b').using(() => undefined)),
  'two re-entries side by side': (hf) =>
    hf.mutex('m').using(() => Promise.all([1, 2].map(() => hf.mutex('m').using(() => undefined)))),
  'readers on one place': (hf) => Promise.all([1, 2, 3].map(() => hf.rwLock('m').read.using(() => undefined))),
  'readers behind a writer': async (hf) => {
    const writer = await hf.rwLock('m').write.acquire()
    const readers = [1, 2, 3].map(() => hf.rwLock('m').read.using(() => undefined))
    const late = hf
      .rwLock('m')
      .read.acquire({ waitMs: 20 })
      .catch((error: unknown) => error)
    await late
    await writer.release()
    return Promise.all(readers)
  },
  'all at once': (hf) => hf.all([hf.mutex('a'), hf.mutex('b')]).using(() => undefined),
  'all, one by one': async (hf) => {
    const held = await hf.mutex('b').acquire()
    const both = hf.all([hf.mutex('a'), hf.mutex('b')]).using(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, 20))
    await held.release()
    return both
  },
  'handed on to another process': async (hf) => {
    const text = await (await hf.mutex('m').acquire()).export()
    return (await hf.adopt(text)).release()
  },
  'tries and time limits': async (hf) => {
    const held = await hf.mutex('m').acquire()
    const given = [
      hf.mutex('m').tryAcquire(),
      hf.mutex('m').acquire({ waitMs: 0 }),
      hf.mutex('m').acquire({ waitMs: 9 }),
    ]
    await Promise.allSettled(given)
    return held.release()
  },
  'an owner that comes again': async (hf) => {
    const owner = {}
    const first = await hf.mutex('m').acquire({ owner })
    const again = await hf.mutex('m').acquire({ owner })
    await again.release()
    return first.release()
  },
  permits: async (hf) => {
    const two = await hf.semaphore('s', 2).acquire({ permits: 2 })
    const one = hf.semaphore('s', 2).using(() => undefined)
    await two.release()
    return one
  },
  'a kept lock': async (hf) => {
    await hf.mutex('k', { keep: true }).using(() => undefined)
    return hf.mutex('k', { keep: true }).using(() => undefined)
  },
  'an upgrade': (hf) => hf.rwLock('u').upgrade.using((held) => held.upgrade()),
  'an election': (hf) => hf.election('e').run(() => undefined),
}

test.each(Object.keys(WAYS))('%s: what begins ends once', async (way) => {
  const all = listen()
  const hf = await holdfast(memory())
  await WAYS[way]?.(hf)
  await hf.close()
  expect(of(all, 'acquired').length).toBeGreaterThan(0)
  expectBalance(all)
})

test('what is open when the instance closes ends once, and so does each reader that is lost', async () => {
  const all = listen()
  const hf = await holdfast(memory())
  await hf.mutex('m').acquire()
  const waiting = hf
    .mutex('m')
    .acquire()
    .catch((error: unknown) => error)
  const readers = await Promise.all([1, 2].map(() => hf.rwLock('r').read.acquire()))
  await Promise.all([1, 2, 3].map(() => hf.rwLock('lost', { ttlMs: 300 }).read.acquire()))
  await hf.break('lost', { now: true })
  await expect.poll(() => of(all, 'lost').length).toBe(3)
  await hf.close()
  await waiting
  expect(readers.map(({ state }) => state)).toEqual(['released', 'released'])
  expectBalance(all)
})

test('a store that refuses ends the request as failed', async () => {
  const all = listen()
  const before = (_call: number, method: string): void => {
    if (method === 'enter') throw new StoreError('out of memory')
  }
  await using hf = await holdfast(new FaultyDriver(memory(), { before }))
  await hf
    .mutex('m')
    .acquire()
    .catch((error: unknown) => error)
  expectBalance(all)
})

test('position counts those in front, and holders() names them', async () => {
  const all = listen()
  const driver = memory()
  await using hf = await holdfast(driver, { label: 'kitchen' })
  const held = await hf.mutex('m').acquire()
  const others = [hf.mutex('m').acquire(), hf.mutex('m').acquire(), hf.mutex('m', { fairness: 'strict' }).acquire()]
  await expect.poll(() => of(all, 'waiting').length).toBe(3)
  const waiting = of(all, 'waiting') as unknown as Events['waiting'][]
  expect(waiting.map(({ where, position }) => `${where} ${position}`)).toEqual(['process 1', 'process 2', 'store 1'])
  const holders = await waiting[2]?.holders()
  expect(holders).toMatchObject([{ label: 'kitchen', pid: process.pid, token: held.token }])
  await held.release()
  for (const other of others) await (await other).release()
  expect(await waiting[2]?.holders()).toEqual([])
})

test('those behind a caller that asks the store wait behind that caller only', async () => {
  const all = listen()
  await using hf = await holdfast(memory())
  const strict = await hf.mutex('m', { fairness: 'strict' }).acquire()
  const first = hf.mutex('m').acquire()
  const second = hf.mutex('m').acquire()
  await expect.poll(() => of(all, 'waiting').length).toBe(2)
  const seen = of(all, 'waiting').map(({ where, position }) => `${String(where)} ${String(position)}`)
  expect(seen.toSorted()).toEqual(['process 1', 'store 1'])
  await strict.release()
  await (await first).release()
  await (await second).release()
})

test('each reader has held for as long as it has held', async () => {
  const all = listen()
  await using hf = await holdfast(memory())
  const long = await hf.rwLock('r').read.acquire()
  await new Promise((resolve) => setTimeout(resolve, 60))
  const short = await hf.rwLock('r').read.acquire()
  await short.release()
  await long.release()
  const [first, second] = of(all, 'released').map(({ heldMs }) => heldMs as number)
  expect(first).toBeLessThan(second as number)
  expect(second).toBeGreaterThanOrEqual(59)
})

test('a rate limit that says no is told, by take and by a wait', async () => {
  const all = listen()
  await using hf = await holdfast(memory())
  const limiter = hf.limiter('mail', { limit: 1, perMs: 60 })
  await limiter.take('ann')
  await limiter.take('ann')
  await limiter.acquire('ann')
  const told = of(all, 'limited')
  expect(told.length).toBeGreaterThanOrEqual(2)
  for (const each of told) expect(each).toMatchObject({ store: 'memory', limiter: 'mail', key: 'ann', shut: false })
  expect(told[0]?.['retryMs']).toBeGreaterThan(0)
})

test('a guard that refuses a token is told', async () => {
  const all = listen()
  await using hf = await holdfast(memory())
  const remember = cellMemory(hf)
  const late = await hf.mutex('m').acquire()
  const old = proofOf(late)
  await late.release()
  const held = await hf.mutex('m').acquire()
  await remember('ledger', proofOf(held))
  await expect(remember('ledger', old)).rejects.toThrow('stale')
  expect(of(all, 'fence-refused')).toMatchObject([
    { resource: 'ledger', lock: 'm', given: late.token, newest: held.token },
  ])
})
