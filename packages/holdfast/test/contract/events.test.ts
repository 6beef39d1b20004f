/** What those who watch are told of a hold: by onState, and by node:diagnostics_channel. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { afterEach, expect, test } from 'vitest'
import { FaultyDriver } from '../../conformance/faulty.ts'
import type { Entry, Place } from '../../src/contract/driver.ts'
import { channels } from '../../src/contract/events.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { type Held, holdfast, type HoldState, StoreError, StoreUnreachableError } from '../../src/index.ts'

interface Told {
  readonly channel: string
  readonly lock: string
  readonly token: bigint
  readonly waitedMs?: number
}

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

function watch(): Told[] {
  const told: Told[] = []
  for (const channel of ['acquired', 'released', 'lost']) {
    const listener = (message: unknown): void => void told.push({ channel, ...(message as Omit<Told, 'channel'>) })
    subscribe(`holdfast:${channel}`, listener)
    stops.push(() => unsubscribe(`holdfast:${channel}`, listener))
  }
  return told
}

const shown = (told: readonly Told[]): string[] => told.map(({ channel, lock }) => `${channel} ${lock}`)

test('a hold begins and ends on the channels, with its token and how long was waited', async () => {
  const told = watch()
  await using hf = await holdfast(memory())
  const held = await hf.mutex('m').acquire()
  const waiting = hf.mutex('m').acquire()
  await new Promise((resolve) => setTimeout(resolve, 30))
  await held.release()
  const next = await waiting
  await next.release()
  expect(shown(told)).toEqual(['acquired m', 'released m', 'acquired m', 'released m'])
  expect(told.map(({ token }) => token)).toEqual([held.token, held.token, next.token, next.token])
  expect(told[0]?.waitedMs).toBeGreaterThanOrEqual(0)
  expect(told[2]?.waitedMs).toBeGreaterThanOrEqual(29)
})

test('whatever the hold is, and however it ends, it begins once and ends once', async () => {
  const told = watch()
  const hf = await holdfast(memory())
  await hf.mutex('nested').using(() => hf.mutex('nested').using(() => undefined))
  await hf.all([hf.mutex('a'), hf.mutex('b')]).using(() => undefined)
  const heir = await hf.adopt(await (await hf.mutex('given').acquire()).export())
  await heir.release()
  const lost = await hf.mutex('short', { ttlMs: 20, renew: false }).acquire()
  await expect.poll(() => lost.state).toBe('lost')
  await hf.mutex('closed').acquire()
  await hf.close()
  const counts = new Map<string, number>()
  for (const each of shown(told)) counts.set(each, (counts.get(each) ?? 0) + 1)
  expect(Object.fromEntries(counts)).toEqual({
    'acquired nested': 1,
    'released nested': 1,
    'acquired a': 1,
    'acquired b': 1,
    'released a': 1,
    'released b': 1,
    'acquired given': 2,
    'released given': 2,
    'acquired short': 1,
    'lost short': 1,
    'acquired closed': 1,
    'released closed': 1,
  })
})

test('onState tells the first state, too, before acquire resolves', async () => {
  await using hf = await holdfast(memory())
  const states: [HoldState, Held][] = []
  const lock = hf.mutex('m', { onState: (state, held) => void states.push([state, held]) })
  const held = await lock.acquire()
  expect(states).toEqual([['held', held]])
  await held.release()
  expect(states.map(([state]) => state)).toEqual(['held', 'released'])
  states.length = 0
  await lock.using(() => lock.using(() => undefined))
  expect(states.map(([state]) => state)).toEqual(['held', 'held', 'released', 'released'])
  states.length = 0
  await (
    await hf.rwLock('r', { onState: (state, reader) => void states.push([state, reader]) }).read.acquire()
  ).release()
  expect(states.map(([state]) => state)).toEqual(['held', 'released'])
})

test('who lets go when it is told so leaves nothing behind', async () => {
  await using hf = await holdfast(memory())
  const ends: Promise<boolean>[] = []
  const lock = hf.mutex('m', { onState: (state, held) => void (state === 'held' && ends.push(held.release())) })
  const held = await lock.acquire()
  expect(held.state).toBe('released')
  await hf.mutex('m').using(async () => {
    const inner = await lock.acquire()
    expect(inner.state).toBe('released')
    await lock.acquire()
  })
  expect(await Promise.all(ends)).toEqual([true, true, true])
  await (await hf.mutex('m').acquire()).release()
})

/** Everything that is told, in order: what it was, and of which lock. */
function listen(): { readonly event: string; readonly told: Record<string, unknown> }[] {
  const all: { event: string; told: Record<string, unknown> }[] = []
  for (const event of Object.keys(channels)) {
    const listener = (message: unknown): void => void all.push({ event, told: message as Record<string, unknown> })
    subscribe(`holdfast:${event}`, listener)
    stops.push(() => unsubscribe(`holdfast:${event}`, listener))
  }
  return all
}

test('a wait is told from its request to its end, whatever the end is', async () => {
  const all = listen()
  await using hf = await holdfast(memory())
  const held = await hf.mutex('m').acquire()
  expect(await hf.mutex('m').tryAcquire()).toBeNull()
  await expect(hf.mutex('m').acquire({ waitMs: 20 })).rejects.toThrow('stayed held')
  const impatient = new AbortController()
  const aborted = expect(hf.mutex('m').acquire({ signal: impatient.signal })).rejects.toThrow('enough')
  impatient.abort(new Error('enough'))
  await aborted
  const strict = hf.mutex('m', { fairness: 'strict' }).acquire()
  await expect.poll(() => all.filter(({ told }) => told['where'] === 'store').length).toBe(1)
  await held.release()
  await (await strict).release()
  expect(all.map(({ event }) => event)).toEqual([
    'requested',
    'acquired',
    'requested',
    'refused',
    'requested',
    'waiting',
    'timed-out',
    'requested',
    'waiting',
    'aborted',
    'requested',
    'waiting',
    'released',
    'acquired',
    'released',
  ])
  for (const { told } of all) expect(told).toMatchObject({ store: 'memory', lock: 'm' })
  const timedOut = all.find(({ event }) => event === 'timed-out')?.told['waitedMs']
  expect(timedOut).toBeGreaterThanOrEqual(19)
  const released = all.find(({ event }) => event === 'released')?.told['heldMs']
  expect(released).toBeGreaterThanOrEqual(19)
})

test('a lock that is handed over inside the process says so', async () => {
  const all = listen()
  await using hf = await holdfast(memory())
  const first = await hf.mutex('m').acquire()
  const second = hf.mutex('m').acquire()
  await first.release()
  await (await second).release()
  const acquired = all.filter(({ event }) => event === 'acquired').map(({ told }) => told['by'])
  expect(acquired).toEqual(['store', 'process'])
})

test('renewals, risks, breaks and terms of office are told', async () => {
  const all = listen()
  let isDown = false
  const before = (_call: number, method: string): void => {
    if (isDown && method === 'touch') throw new StoreUnreachableError('no answer')
  }
  const driver = new FaultyDriver(memory(), { before })
  await using hf = await holdfast(driver)
  const held = await hf.mutex('m', { ttlMs: 600 }).acquire()
  const of = (name: string): Record<string, unknown>[] =>
    all.filter(({ event }) => event === name).map(({ told }) => told)
  await expect.poll(() => of('renewed').length).toBeGreaterThan(0)
  expect(of('renewed')[0]).toMatchObject({ store: driver.name, locks: ['m'] })
  expect(of('renewed')[0]).not.toHaveProperty('error')
  isDown = true
  await expect.poll(() => of('lost').length).toBe(1)
  expect(of('at-risk')).toMatchObject([{ lock: 'm', token: held.token, error: { message: 'no answer' } }])
  expect(of('renewed').at(-1)).toMatchObject({ error: { message: 'no answer' } })
  await hf.break('m', { now: true })
  expect(of('broken')).toMatchObject([{ lock: 'm', now: true }])
  const election = hf.election('leader', { value: 'me' })
  const term = await election.campaign()
  await election.resign()
  expect(of('elected')).toMatchObject([{ lock: 'leader', token: term.token, value: 'me' }])
  expect(of('resigned')).toMatchObject([{ lock: 'leader', token: term.token }])
})

/** A store whose answers to heartbeats come when it is told so. */
class LateDriver extends FaultyDriver {
  answer: () => void = () => undefined
  readonly #answered = new Promise<void>((resolve) => {
    this.answer = resolve
  })

  override async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const places = await super.touch(entries)
    await this.#answered
    return places
  }
}

test('a lock that was lost before the store answered, or whose place is gone, was not renewed', async () => {
  const all = listen()
  const renewed = (): unknown[] => all.filter(({ event }) => event === 'renewed').map(({ told }) => told['locks'])
  const driver = new LateDriver(memory(), {})
  await using hf = await holdfast(driver)
  const lost = await hf.mutex('late', { ttlMs: 600 }).acquire()
  await expect.poll(() => lost.state).toBe('lost')
  driver.answer()
  await expect.poll(() => renewed().length).toBe(1)
  await hf.mutex('gone', { ttlMs: 600 }).acquire()
  await hf.break('gone', { now: true })
  await expect.poll(() => all.filter(({ event }) => event === 'lost').length).toBe(2)
  expect(renewed().flat()).toEqual([])
})

test('a caller that gets an error is told of, with the error', async () => {
  const all = listen()
  const before = (_call: number, method: string): void => {
    if (method === 'enter') throw new StoreError('out of memory')
  }
  await using hf = await holdfast(new FaultyDriver(memory(), { before }))
  await expect(hf.mutex('m').acquire()).rejects.toThrow('out of memory')
  expect(all.filter(({ event }) => event === 'failed').map(({ told }) => told)).toMatchObject([
    { lock: 'm', error: { code: 'HF_STORE' } },
  ])
})
