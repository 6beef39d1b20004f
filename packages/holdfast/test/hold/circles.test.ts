/** Which waiters can never be served: worked out from views of lines. */
import { expect, test } from 'vitest'
import { findCircles, findEntangled } from '../../src/hold/circles.ts'
import type { LineView, PlaceView } from '../../src/contract/driver.ts'

type Held = readonly [line: string, token: number]

function place(token: number, weight: number, holds: readonly Held[] = []): PlaceView {
  const shown = { token: BigInt(token), weight, ageMs: 0, leftMs: 1, label: '', host: 'h', pid: 1 }
  return holds.length === 0 ? shown : { ...shown, holds: holds.map(([line, held]) => ({ line, token: BigInt(held) })) }
}

function line(name: string, capacity: number, holders: PlaceView[], waiters: PlaceView[]): LineView {
  return { name, capacity, holders, waiters }
}

const stuck = (lines: LineView[]): string[] => findEntangled(lines).map((one) => `${one.line}:${one.place.token}`)

test('two mutexes taken in opposite orders', () => {
  const lines = [
    line('a', 1, [place(1, 1)], [place(4, 1, [['b', 2]])]),
    line('b', 1, [place(2, 1)], [place(3, 1, [['a', 1]])]),
  ]
  expect(stuck(lines)).toEqual(['a:4', 'b:3'])
  expect(findCircles(findEntangled(lines)).map((circle) => circle.map((one) => one.line))).toEqual([['a', 'b']])
})

test('a chain ends with somebody who goes on', () => {
  const lines = [line('a', 1, [place(1, 1)], [place(4, 1, [['b', 2]])]), line('b', 1, [place(2, 1)], [place(5, 1)])]
  expect(stuck(lines)).toEqual([])
})

test('one permit in a circle is no deadlock while another permit will come free', () => {
  const semaphore = line('s', 2, [place(1, 1), place(2, 1)], [place(5, 1, [['m', 3]])])
  const mutex = line('m', 1, [place(3, 1)], [place(4, 1, [['s', 1]])])
  expect(stuck([semaphore, mutex])).toEqual([])
  // With both permits held by those who wait for the mutex, it is one.
  const both = line('m', 1, [place(3, 1)], [place(4, 1, [['s', 1]]), place(6, 1, [['s', 2]])])
  expect(stuck([semaphore, both]).toSorted()).toEqual(['m:4', 'm:6', 's:5'])
})

test('a writer that waits behind a reader which waits for the writer: readers behind it are caught, too', () => {
  const rw = line('rw', 10, [place(1, 1)], [place(4, 10, [['m', 2]]), place(6, 1)])
  const mutex = line('m', 1, [place(2, 1)], [place(5, 1, [['rw', 1]])])
  expect(stuck([rw, mutex]).toSorted()).toEqual(['m:5', 'rw:4', 'rw:6'])
  expect(findCircles(findEntangled([rw, mutex]))).toHaveLength(1)
})

test('what a waiter held when it began, and holds no more, does not count', () => {
  const lines = [
    line('a', 1, [place(9, 1)], [place(10, 1, [['b', 2]])]),
    line('b', 1, [place(2, 1)], [place(3, 1, [['a', 1]])]),
  ]
  expect(stuck(lines)).toEqual([])
})
