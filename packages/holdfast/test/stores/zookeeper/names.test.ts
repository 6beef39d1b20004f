import { expect, test } from 'vitest'
import { CuratorLayout } from '../../../src/stores/zookeeper/curator.ts'
import { LineLayout } from '../../../src/stores/zookeeper/layout.ts'
import { escapeName, unescapeName } from '../../../src/stores/zookeeper/names.ts'
import { decodeNode, encodeNode } from '../../../src/stores/zookeeper/node-data.ts'

test.each(['a', '.', '..', 'a/b', '/', '%', '%2E', '锁', '🔒', '\u0000', 'a b', '~', "'"])('%j comes back', (name) => {
  const segment = escapeName(name)
  for (const illegal of ['/', '.', '\u0000']) expect(segment).not.toContain(illegal)
  expect(unescapeName(segment)).toBe(name)
})

test.each(['%', '%zz', '%2e', 'a b', '%61', '%ff'])('%j is nobody of ours', (segment) => {
  expect(unescapeName(segment)).toBeNull()
})

const ENTRY = { line: '/l', id: '0123456789abcdef'.repeat(2), weight: 2, capacity: 5, ttlMs: 1, data: '{}' }

test("a place's name says who it is", () => {
  const layout = new LineLayout('a/b')
  const path = layout.placePath(layout.linePath('l'), ENTRY)
  expect(path).toBe(`/a%2Fb/lines/l/p-${ENTRY.id}-2-5-`)
  const name = path.slice(path.lastIndexOf('/') + 1)
  expect(layout.parse(`${name}0000000012`)).toMatchObject({ id: ENTRY.id, weight: 2, capacity: 5, order: 12 })
  expect(layout.parse(`${name}-2147483648`)).toMatchObject({ order: -2_147_483_648 })
  expect(layout.parse('_c_x-lock-0000000001')).toBeNull()
})

test("Curator's names", () => {
  const layout = new CuratorLayout()
  const path = layout.placePath('/l', { ...ENTRY, weight: 1, capacity: 1 })
  expect(path).toBe('/l/_c_01234567-89ab-cdef-0123-456789abcdef-lock-')
  expect(layout.parse(`${path.slice(3)}0000000003`)).toMatchObject({ id: ENTRY.id, order: 3 })
  expect(layout.parse('lock-0000000004')).toMatchObject({ id: 'lock-0000000004', order: 4 })
  expect(layout.parse(`p-${ENTRY.id}-1-1-0000000000`)).toBeNull()
})

test("a node's data", () => {
  for (const broken of [true, false]) {
    const node = { ttlMs: 30_000, broken, data: '{"label":"x\\n"}' }
    expect(decodeNode(encodeNode(node))).toEqual(node)
  }
  expect(decodeNode(Buffer.from('127.0.0.1'))).toEqual({ ttlMs: 0, broken: false, data: '' })
})
