import { describe, expect, test } from 'vitest'
import { isGranted } from '../../../src/driver.ts'
import type { Named } from '../../../src/drivers/zookeeper/layout.ts'
import { LineLayout } from '../../../src/drivers/zookeeper/layout.ts'
import { glanceFrom, grantedOf, inOrder, lookFrom, needsCzxid } from '../../../src/drivers/zookeeper/look.ts'

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
