/** What tells a place that it is its turn, and what does not. */
import { expect, test } from 'vitest'
import { ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { CuratorLayout } from '../../../src/stores/zookeeper/curator.ts'
import { LineLayout } from '../../../src/stores/zookeeper/layout.ts'
import { OwnPlace } from '../../../src/stores/zookeeper/places.ts'
import { Handover } from '../../../src/stores/zookeeper/handover.ts'

const client = new ZooKeeperClient({ servers: ['127.0.0.1:1'] })
const lines = new Handover(client, new LineLayout('x'))
const curator = new Handover(client, new CuratorLayout())

function standing(weight: number, capacity: number, behindSingle: boolean): OwnPlace {
  const entry = { line: 'l', id: '0'.repeat(32), weight, capacity, ttlMs: 1_000, data: '{}' }
  return Object.assign(new OwnPlace(entry, '/x/lines/l'), { behindSingle })
}

const inFront = (
  weight: number,
  capacity: number,
): { name: string; id: string; order: number } & Record<'weight' | 'capacity', number> => ({
  name: 'n',
  id: 'i',
  order: 1,
  weight,
  capacity,
})

test('an upgraded reader was marked by a break, to a writer: that is no turn', () => {
  const raise = { name: 'r', weight: 9, beside: 1, order: 2 }
  expect(lines.isTurn(standing(9, 9, true), { ...inFront(9, 9), raise }, 'dataChanged')).toBe(false)
})

test.each([
  ['a holder of the whole line has left', lines, 1, 1, 1, false, 'dataChanged', true],
  ['a writer has left, to a writer', lines, 9, 9, 9, false, 'dataChanged', true],
  ['somebody has gone, and others may be in front', lines, 1, 1, 1, false, 'deleted', false],
  ['the only one in front has gone', lines, 1, 1, 1, true, 'deleted', true],
  ['the only one in front has gone, to a reader', lines, 1, 9, 9, true, 'deleted', false],
  ['a writer has left, to a reader', lines, 1, 9, 9, false, 'dataChanged', false],
  ['a reader was marked by a break, to a writer', lines, 9, 9, 1, true, 'dataChanged', false],
  ["Curator's revocation", curator, 1, 1, 1, true, 'dataChanged', false],
  [
    "the only one in front has gone, in Curator's layout: others may stand there",
    curator,
    1,
    1,
    1,
    true,
    'deleted',
    false,
  ],
  ['the watch is lost', lines, 1, 1, 1, true, 'lost', false],
] as const)('%s', (_, handover, weight, capacity, ahead, single, type, is) => {
  expect(handover.isTurn(standing(weight, capacity, single), inFront(ahead, capacity), type)).toBe(is)
})
