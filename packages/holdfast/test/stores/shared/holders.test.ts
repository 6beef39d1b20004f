/** Who holds, of a line in order. */
import { expect, test } from 'vitest'
import { holdersOf } from '../../../src/stores/shared/holders.ts'

const line = (...weights: readonly number[]): { weight: number }[] => weights.map((weight) => ({ weight }))

test.each([
  ['nobody', line(), 1, 0],
  ['one of many', line(1, 1, 1), 1, 1],
  ['as many as fit', line(2, 1, 1, 1), 4, 3],
  ['nobody behind one that does not fit, though it would', line(2, 3, 1), 4, 1],
  ['readers before a writer', line(1, 1, 9, 1), 9, 2],
] as const)('%s', (_, places, capacity, count) => {
  expect(holdersOf(places, capacity)).toEqual(places.slice(0, count))
})

test('one in front that has become heavier weighs more for those that were not granted beside it', () => {
  const [raised, beside, later] = line(5, 1, 1)
  const places = [raised, beside, later].filter((place) => place !== undefined)
  expect(holdersOf(places, 9)).toHaveLength(3)
  expect(holdersOf(places, 9, (place) => (place === later ? 4 : 0))).toEqual([raised, beside])
})
