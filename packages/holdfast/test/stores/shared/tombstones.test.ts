/** Ids that may not come back. */
import { expect, test } from 'vitest'
import { Tombstones } from '../../../src/stores/shared/tombstones.ts'

test('an id is refused for one ttl, and says what is remembered of it', () => {
  const tombstones = new Tombstones<string>()
  expect(tombstones.find('a', 0)).toBeUndefined()
  tombstones.add({ id: 'a', ttlMs: 100 }, 0, 'left')
  expect(tombstones.find('a', 99)).toBe('left')
  expect(tombstones.find('a', 100)).toBeUndefined()
  expect(tombstones.find('b', 0)).toBeUndefined()
})

test('what is over is forgotten when others come, and what is not over stays', () => {
  const tombstones = new Tombstones()
  tombstones.add({ id: 'short', ttlMs: 10 }, 0, true)
  tombstones.add({ id: 'long', ttlMs: 1_000 }, 0, true)
  tombstones.add({ id: 'later', ttlMs: 10 }, 500, true)
  expect(['short', 'long', 'later'].map((id) => tombstones.find(id, 505))).toEqual([undefined, true, true])
})
