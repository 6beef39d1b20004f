import { describe, expect, test } from 'vitest'
import { isGranted } from '../../../src/driver.ts'
import type { Named } from '../../../src/drivers/zookeeper/layout.ts'
import { grantedOf, inOrder, lookFrom, needsCzxid } from '../../../src/drivers/zookeeper/look.ts'

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
