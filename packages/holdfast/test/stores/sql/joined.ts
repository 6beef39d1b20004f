/** Calls of one turn that are sent as one statement, on a real server: the cases for both. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { StoreError } from '../../../src/contract/errors.ts'
import { type Driver, type Entry, isGranted, type Place } from '../../../src/contract/driver.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { Crew } from './crew.ts'

export interface Joined {
  url(): string
  driver(url: string): Driver
  /** A transaction of somebody else that holds the row of this line; returns how it is ended. */
  lockRow(line: string): Promise<() => Promise<unknown>>
  /** As after a sweep of a line whose last token was this one. */
  raiseFloor(token: bigint): Promise<unknown>
  /** Deadlocks that the server has found since it was started. */
  deadlocks(): Promise<number>
}

export function joinedCases({ url, driver, lockRow, raiseFloor, deadlocks }: Joined): void {
  const open: { close(): Promise<unknown> }[] = []
  afterEach(async () => {
    for (const closing of open.splice(0).toReversed()) await closing.close()
  })
  async function raw(): Promise<Driver> {
    const made = driver(url())
    open.push(made)
    await made.setup?.()
    return made
  }
  async function on(at: string = url()): Promise<Holdfast> {
    const hf = await holdfast(driver(at), { ttlMs: 20_000 })
    open.push(hf)
    return hf
  }
  const entry = (line: string, ttlMs = 60_000): Entry => {
    return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs, data: '{"name":"Ü"}' }
  }
  const fresh = (count: number): Entry[] => {
    const prefix = randomBytes(6).toString('hex')
    return Array.from({ length: count }, (_, i) => entry(`joined ${prefix} ${i}`))
  }
  const enter = (store: Driver, entries: readonly Entry[]): Promise<(Place | null)[]> =>
    Promise.all(entries.map((at) => store.enter(at, true)))
  const leave = (store: Driver, entries: readonly Entry[]): Promise<unknown> =>
    Promise.all(entries.map((at) => store.leave(at)))
  const hold = (entries: readonly Entry[], places: readonly (Place | null)[]): boolean[] =>
    places.map((place, i) => place !== null && isGranted(entries[i] as Entry, place))
  const again = (entries: readonly Entry[]): Entry[] => entries.map(({ line }) => entry(line))

  describe('256 calls of one turn', () => {
    test('names of their own, new and then known: all hold, others wait, and tokens rise', async () => {
      const [mine, theirs] = [await raw(), await raw()]
      const first = fresh(256)
      const before = await enter(mine, first)
      expect(new Set(hold(first, before))).toEqual(new Set([true]))
      const others = again(first)
      expect(await Promise.all(others.map((at) => theirs.enter(at, false)))).toEqual(others.map(() => null))
      await leave(mine, first)
      const second = again(first)
      const after = await enter(mine, second)
      expect(new Set(hold(second, after))).toEqual(new Set([true]))
      for (const [i, place] of after.entries()) expect(place?.token).toBeGreaterThan(before[i]?.token ?? 0n)
      await leave(mine, second)
      const third = again(first)
      expect(new Set(hold(third, await enter(theirs, third)))).toEqual(new Set([true]))
    }, 60_000)

    test('one name: they stand in the order in which they asked, and one holds', async () => {
      const store = await raw()
      const [{ line }] = fresh(1) as [Entry]
      const entries = Array.from({ length: 256 }, () => entry(line))
      const places = await enter(store, entries)
      expect(places.map((place) => place?.ahead)).toEqual(places.map((_, i) => i))
      const tokens = places.map((place) => place?.token ?? 0n)
      expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
      await leave(store, entries)
      expect(hold([entry(line)], [await store.enter(entry(line), false)])).toEqual([true])
    }, 60_000)

    test('new, known, held, crowded and asked twice in one turn: each gets its own answer', async () => {
      const [mine, theirs] = [await raw(), await raw()]
      const [known, held, twice] = [fresh(60), fresh(60), fresh(20)]
      await enter(mine, known)
      await leave(mine, known)
      await enter(theirs, held)
      const asked = [again(known), again(held), fresh(96), again(twice), again(twice)]
      const places = await Promise.all(asked.map((entries) => enter(mine, entries)))
      expect(places.map((its) => its.map((place) => place?.ahead))).toEqual(
        asked.map((entries, i) => entries.map(() => (i === 1 || i === 4 ? 1 : 0))),
      )
      // Left in one turn, too: whoever stood behind holds now.
      await Promise.all([leave(mine, asked[3] as Entry[]), leave(theirs, held)])
      for (const i of [1, 4]) {
        const touched = await mine.touch(asked[i] as Entry[])
        expect(new Set(hold(asked[i] as Entry[], touched))).toEqual(new Set([true]))
      }
    }, 60_000)

    test('the same again with the same ids, as after a lost answer: the places that are there', async () => {
      const store = await raw()
      const entries = fresh(40)
      const places = await enter(store, entries)
      const found = await enter(store, entries)
      expect(found.map((place) => place?.token)).toEqual(places.map((place) => place?.token))
      await leave(store, entries)
      await leave(store, entries)
      const late = await Promise.all(entries.map((at) => store.enter(at, true)))
      // They left when they were not there any more: their ids are dead.
      expect(late).toEqual(entries.map(() => null))
    }, 60_000)
  })

  test('lines in which an id has died are not free for a batch, and keep their tokens', async () => {
    const store = await raw()
    const entries = fresh(12)
    // They have left before they entered; the last token of these lines is none.
    await leave(store, entries.slice(0, 4))
    const places = await enter(store, entries)
    expect(places.map((place) => place?.ahead)).toEqual(entries.map((_, i) => (i < 4 ? undefined : 0)))
    const next = again(entries.slice(0, 4))
    const soon = BigInt(Date.now() + 3_600_000) * 1_000n
    for (const place of await enter(store, next)) expect(place?.token).toBeLessThan(soon)
  }, 60_000)

  test('one that the server refuses fails alone', async () => {
    const store = await raw()
    const entries = fresh(20)
    const bad = entry(randomBytes(6_000).toString('hex'))
    const [refused, ...places] = await Promise.all([
      store.enter(bad, true).catch((error: unknown) => error),
      ...entries.map((at) => store.enter(at, true)),
    ])
    expect(refused).toBeInstanceOf(StoreError)
    expect(new Set(hold(entries, places as (Place | null)[]))).toEqual(new Set([true]))
    await leave(store, entries)
  }, 60_000)

  test('a line that somebody has locked holds nobody else up, neither to enter nor to leave', async () => {
    const store = await raw()
    const entries = fresh(10)
    await enter(store, entries)
    await leave(store, entries)
    const held = again(entries)
    const [first, ...rest] = held as [Entry, ...Entry[]]
    let free = await lockRow(first.line)
    const waiting = store.enter(first, true)
    expect(new Set(hold(rest, await enter(store, rest)))).toEqual(new Set([true]))
    await free()
    expect(hold([first], [await waiting])).toEqual([true])
    free = await lockRow(first.line)
    const leaving = store.leave(first)
    await leave(store, rest)
    await free()
    await leaving
    const next = again(entries)
    expect(new Set(hold(next, await enter(store, next)))).toEqual(new Set([true]))
  }, 60_000)

  test('new lines are numbered above those that were swept, and known ones above themselves', async () => {
    const store = await raw()
    // A clock that ran ahead for an hour made it.
    const floor = BigInt(Date.now() + 3_600_000) * 1_000n
    await raiseFloor(floor)
    const known = fresh(10)
    let last = floor
    for (const mixed of [0, 0, 10]) {
      // All new, all known, and both.
      const asked = [...again(known), ...fresh(mixed)]
      const places = await enter(store, asked)
      expect(new Set(hold(asked, places))).toEqual(new Set([true]))
      const tokens = places.map((place) => place?.token ?? 0n)
      for (const token of tokens.slice(0, 10)) expect(token).toBeGreaterThan(last)
      for (const token of tokens.slice(10)) expect(token).toBeGreaterThan(floor)
      last = tokens[0] ?? 0n
      await leave(store, asked)
    }
    await raiseFloor(0n)
  }, 60_000)

  describe('a connection that breaks in the middle of a batch', () => {
    const cuts = ['the answer is lost', 'half of the request is lost'] as const
    test.each(cuts)(
      '%s: all hold in the end, once each, and nobody else does',
      async (cut) => {
        const { port } = new URL(url())
        const proxy = await faultProxy({ port: Number(port) })
        try {
          const [near, far] = [await on(), await on(url().replace(`:${port}/`, `:${proxy.port}/`))]
          const batch = (): string[] => fresh(12).map(({ line }) => line)
          // Statements are prepared from then on, and the request is one chunk.
          for (const held of await Promise.all(batch().map((line) => far.mutex(line).acquire()))) await held.release()
          const lines = batch()
          const sign = Buffer.from(lines[0] as string).toString('hex')
          const broken =
            cut === 'the answer is lost'
              ? proxy.loseNextReply({ match: (bytes) => bytes.includes(sign) })
              : proxy.cutAfter('toServer', 300)
          const holds = await Promise.all(lines.map((line) => far.mutex(line).acquire()))
          expect(await broken).toBe(true)
          for (const held of holds) held.assertHeld()
          for (const [i, line] of lines.entries()) {
            for await (const view of near.list({ prefix: line })) {
              if (view.name !== line) continue
              expect(view.holders.map(({ token }) => token)).toEqual([holds[i]?.token])
              expect(view.waiters).toEqual([])
            }
            expect(await near.mutex(line).tryAcquire()).toBeNull()
          }
          await Promise.all(holds.map((held) => held.release()))
          for (const line of lines) expect(await near.mutex(line).tryAcquire()).not.toBeNull()
        } finally {
          await proxy.close()
        }
      },
      60_000,
    )
  })

  test('two processes want the same new names at once, in opposite order: no deadlock, and one at a time', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-joined-'))
    const line = `opposite ${randomBytes(6).toString('hex')}`
    const before = await deadlocks()
    const orders = [false, true].map((reversed) => {
      return { work: 'together', url: url(), line, times: 8, mark: join(folder, 'in'), clockMs: 0, reversed } as const
    })
    const crew = await Crew.hire(orders)
    try {
      const [a = [], b = []] = await crew.go<string[]>()
      expect(a).toHaveLength(8 * 64)
      // A token belongs to its name; the same name has never given one twice.
      expect(a.filter((token) => b.includes(token))).toEqual([])
    } finally {
      await crew.dismiss()
      rmSync(folder, { recursive: true, force: true })
    }
    expect(await deadlocks()).toBe(before)
  }, 120_000)
}
