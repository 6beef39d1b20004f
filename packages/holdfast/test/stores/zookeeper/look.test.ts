import { describe, expect, test } from 'vitest'
import { isGranted } from '../../../src/contract/driver.ts'
import type { Named } from '../../../src/stores/zookeeper/layout.ts'
import { LineLayout } from '../../../src/stores/zookeeper/layout.ts'
import { glanceFrom, grantedOf, inOrder, lookFrom, needsCzxid } from '../../../src/stores/zookeeper/look.ts'
import { markName, parseMark, raiseOf } from '../../../src/stores/zookeeper/raise.ts'

function line(capacity: number, ...weights: readonly number[]): Named[] {
  return weights.map((weight, i) => ({ name: `n${i}`, id: `id${i}`, weight, capacity, order: i }))
}

const blockingOf = (all: readonly Named[], i: number): string[] =>
  (lookFrom(all, `id${i}`)?.blocking ?? []).map(({ name }) => name)

describe('who is watched', () => {
  test('a mutex: the one in front', () => {
    expect(blockingOf(line(1, 1, 1, 1), 2)).toEqual(['n1'])
    expect(blockingOf(line(1, 1, 1, 1), 0)).toEqual([])
  })

  test('a reader: the nearest writer, not the readers between', () => {
    expect(blockingOf(line(1_000_000, 1_000_000, 1, 1_000_000, 1, 1), 4)).toEqual(['n2'])
  })

  test('a writer behind readers: the nearest of them', () => {
    expect(blockingOf(line(1_000_000, 1, 1, 1_000_000), 2)).toEqual(['n1'])
  })

  test('permits: as many as it takes to be blocked while all of them stand', () => {
    expect(blockingOf(line(3, 1, 1, 1, 1), 3)).toEqual(['n2', 'n1', 'n0'])
    expect(blockingOf(line(3, 1, 2, 1, 1), 3)).toEqual(['n2', 'n1'])
  })

  test('every wake-up comes: no place is granted while its whole blocking set stands', () => {
    let state = 12_345
    const random = (n: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31
      return state % n
    }
    for (let round = 0; round < 4_000; round++) {
      const capacity = 1 + random(5)
      let all = line(capacity, ...Array.from({ length: 2 + random(7) }, () => 1 + random(capacity)))
      const me = all.at(-1) as Named
      const set = lookFrom(all, me.id)?.blocking ?? []
      // Anybody but the blocking set goes, in any order.
      for (const other of all.filter((place) => place !== me && !set.includes(place))) {
        if (random(2) === 0) all = all.filter((place) => place !== other)
      }
      const look = lookFrom(all, me.id)
      expect(look).not.toBeNull()
      if (set.length > 0 && look !== null) expect(isGranted(me, look)).toBe(false)
    }
  })
})

test('an id that is not in the line stands nowhere', () => {
  expect(lookFrom(line(1, 1), 'id7')).toBeNull()
})

test('who is behind, whose capacity counts; the order of the listing does not matter', () => {
  const all = line(2, 1, 1, 1).toReversed()
  expect(lookFrom(all, 'id1')).toMatchObject({ ahead: 1, wanted: true, capacity: 2 })
  expect(lookFrom(all, 'id2')).toMatchObject({ ahead: 2, wanted: false })
  expect(grantedOf(inOrder(all)).map(({ id }) => id)).toEqual(['id0', 'id1'])
})

test('numbers near the end of 32 bits, and past it, are not trusted', () => {
  const at = (order: number): Named[] => [{ name: '', id: '', weight: 1, capacity: 1, order }]
  expect(needsCzxid(at(0))).toBe(false)
  expect(needsCzxid(at(2_000_000_000))).toBe(false)
  expect(needsCzxid(at(2 ** 31 - 1))).toBe(true)
  expect(needsCzxid(at(-(2 ** 31)))).toBe(true)
})

describe('from the names alone', () => {
  const layout = new LineLayout('x')
  const name = (i: number, weight = 1, capacity = 1): string =>
    `p-${String(i).padStart(32, '0')}-${weight}-${capacity}-${String(i).padStart(10, '0')}`
  const glance = (names: readonly string[], mine: string, weight = 1, capacity = 1): ReturnType<typeof glanceFrom> =>
    glanceFrom(names, mine, { weight, capacity }, (each) => layout.parse(each))

  test('it says what the whole look says of who blocks and who is behind', () => {
    const names = [7, 3, 12, 9, 100].map((i) => name(i))
    for (const mine of names) {
      const line = names.flatMap((each) => layout.parse(each) ?? [])
      const whole = lookFrom(line, mine.slice(2, 34))
      const { wanted, capacity, blocking, single } = glance(names, mine) ?? {}
      expect({ wanted, capacity, blocking, single }).toEqual({
        wanted: whole?.wanted,
        capacity: whole?.capacity,
        blocking: whole?.blocking,
        single: whole?.single,
      })
      expect(single, 'only the second has exactly one in front').toBe(mine === name(7))
    }
  })

  test('another capacity is seen at the first, not at the next', () => {
    expect(glance([name(1, 1, 5), name(2), name(3)], name(3))).toMatchObject({ capacity: 5, ahead: 1 })
  })

  test('a writer behind a reader waits', () => {
    expect(glance([name(1, 1, 9), name(2, 9, 9)], name(2, 9, 9), 9, 9)).toMatchObject({ ahead: 1, capacity: 9 })
  })

  test.each([
    ['shared places', [name(1), name(2)], name(2), 1, 2],
    ['not among them', [name(1)], name(2), 1, 1],
    ['a stranger next', ['x0000000001', name(2)], name(2), 1, 1],
    ['a stranger first', ['x0000000000', name(1), name(2)], name(2), 1, 1],
    ['no number', ['note', name(2)], name(2), 1, 1],
    ['near the last number', [name(2), `${name(3).slice(0, -10)}2147483647`], name(2), 1, 1],
    ['past the last number', [name(2), `${name(3).slice(0, -10)}-2147483648`], name(2), 1, 1],
    ['just past it', [name(2), `${name(3).slice(0, -10)}-000000005`], name(2), 1, 1],
    ['one number twice', [name(2), `q${name(2)}`], name(2), 1, 1],
  ] as const)('%s: parsed after all', (_, names, mine, weight, capacity) => {
    expect(glance(names, mine, weight, capacity)).toBeNull()
  })
})

describe('one that has become heavier', () => {
  const FULL = 1_000_000
  const id = (i: number): string => String(i).padStart(32, '0')
  /** Readers, one that can become heavier, and writers; a mark on the second, settled up to `beside` or open. */
  const raised = (beside: number | null, ...weights: readonly number[]): Named[] =>
    weights.map((weight, i) => ({
      ...{ name: `n${i}`, id: id(i), weight, capacity: FULL, order: i },
      ...(i === 1 ? { raise: { name: 'mark', weight: FULL, beside, order: 3.5 } } : {}),
    }))
  const U = 500_001

  test('waits for all that were granted beside it, and for nobody behind those', () => {
    const all = raised(3, 1, U, 1, 1, 1)
    expect(lookFrom(all, id(1))).toMatchObject({ ahead: 3, wanted: true })
    expect(lookFrom(all, id(1))?.blocking.map(({ name }) => name)).toEqual(['n3'])
    const left = all.filter(({ order }) => order === 1 || order === 4)
    expect(lookFrom(left, id(1))).toMatchObject({ ahead: 0, wanted: true, blocking: [] })
  })

  test('weighs what it was entered with for those beside it, and all for the others, which await its mark', () => {
    const all = raised(3, 1, U, 1, 1, 1)
    for (const beside of [0, 2, 3]) {
      const me = all[beside] as Named
      expect(isGranted(me, lookFrom(all, me.id) ?? { ahead: FULL })).toBe(true)
      expect(lookFrom(all, me.id)?.wanted).toBe(true)
    }
    const newcomer = all[4] as Named
    expect(isGranted(newcomer, lookFrom(all, newcomer.id) ?? { ahead: 0 })).toBe(false)
    expect(lookFrom(all, newcomer.id)?.blocking.map(({ name }) => name)).toEqual(['n1', 'mark'])
    expect(grantedOf(inOrder(all)).map(({ order }) => order)).toEqual([0, 1, 2, 3])
  })

  test('a writer behind it waits for it alone: lighter, it is in the way as well', () => {
    const all = raised(1, 1, U, FULL)
    expect(lookFrom(all, id(2))?.blocking.map(({ name }) => name)).toEqual(['n1'])
  })

  test('until it is known who was granted beside it, only those that were told are, and it writes beside none', () => {
    const all = raised(null, 1, U, 1, 1, 1)
    const [told, later] = [all[2] as Named, all[4] as Named]
    expect(isGranted(told, lookFrom(all, told.id, true) ?? { ahead: FULL })).toBe(true)
    expect(isGranted(told, lookFrom(all, told.id, false) ?? { ahead: 0 })).toBe(false)
    expect(isGranted(later, lookFrom(all, later.id, true) ?? { ahead: 0 })).toBe(false)
    const alone = all.filter(({ order }) => order === 1)
    expect(lookFrom(alone, id(1))?.ahead).toBeGreaterThan(0)
    expect(grantedOf(inOrder(all)).map(({ order }) => order)).toEqual([0, 1, 2, 3])
  })

  test('its mark comes through its name, and one without a place says nothing', () => {
    const number = '0000000007'
    for (const beside of [null, { number: -3, czxid: 4_294_967_299 }]) {
      const name = markName(id(1), FULL, beside) + number
      expect(parseMark(name)).toEqual({ name, id: id(1), weight: FULL, beside, order: 7 })
      expect(glanceFrom(['n0000000008', name], 'n0000000008', { weight: 1, capacity: 1 }, () => null)).toBeNull()
    }
    expect(parseMark(`p-${id(1)}-1-1-${number}`)).toBeNull()
    const mark = { name: 'm', id: id(1), weight: FULL, beside: { number: 2, czxid: 9 }, order: 7 }
    const open = { ...mark, beside: null }
    expect(raiseOf([open, mark], id(1), false)).toMatchObject({ beside: 2 })
    expect(raiseOf([open, mark], id(1), true)).toMatchObject({ beside: 9 })
    expect(raiseOf([open, mark], id(2), false)).toBeUndefined()
  })
})
