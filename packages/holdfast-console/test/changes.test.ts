import { expect, test } from 'vitest'
import type { LineView, PlaceView } from 'holdfast'
import { changesOf } from '../src/changes.ts'
import { type Lock, lockOf, rowOf } from '../src/lock.ts'

function place(token: number, more: Partial<PlaceView> = {}): PlaceView {
  const { label = `p${token}` } = more
  return { token: BigInt(token), weight: 1, ageMs: 100, leftMs: 9_000, label, host: 'h', pid: token, ...more }
}

function line(holders: readonly PlaceView[], waiters: readonly PlaceView[] = []): LineView {
  return { name: 'a', capacity: 1, holders, waiters }
}

const at = (nowMs: number, view: LineView, before?: Lock): Lock => lockOf(view, nowMs, before)
const kinds = (before: Lock | undefined, after: Lock | undefined, nowMs: number): string[] =>
  changesOf(before, after, nowMs).map(({ kind, token }) => `${token} ${kind}`)

test('a waiter that holds now was handed the lock', () => {
  const before = at(0, line([place(1)], [place(2)]))
  const after = at(1_000, line([place(2)]), before)
  expect(kinds(before, after, 1_000)).toEqual(['1 released', '2 handed over'])
  expect(after.holders[0]).toMatchObject({ gotMs: 1_000, askedMs: -100 })
})

test('a free lock is acquired, and a holder that goes before its lease ends has released', () => {
  expect(kinds(undefined, at(0, line([place(1)])), 0)).toEqual(['1 acquired'])
  expect(kinds(at(0, line([place(1)])), undefined, 1_000)).toEqual(['1 released'])
})

test('a holder whose lease was over when it went has lost the lock', () => {
  const before = at(0, line([place(1, { leftMs: 800 })]))
  expect(kinds(before, undefined, 1_000)).toEqual(['1 ran out'])
})

test('what this console has broken is no release, and a new leader is elected', () => {
  const before = at(0, line([place(1, { value: 'x' })]))
  const broken = { ...before, holders: before.holders.map((holder) => ({ ...holder, broken: true as const })) }
  const after = at(1_000, line([place(2, { value: 'y' })]), broken)
  expect(kinds(broken, after, 1_000)).toEqual(['1 broken', '2 elected'])
})

test('a look later is no change: the end of an unrenewed lease stands still, a renewed one moves', () => {
  const first = at(0, line([place(1, { leftMs: 9_000 })], [place(2)]))
  const still = at(1_000, line([place(1, { leftMs: 8_040, ageMs: 1_100 })], [place(2, { ageMs: 1_130 })]), first)
  expect(rowOf(still, 0)).toEqual(rowOf(first, 0))
  const renewed = at(2_000, line([place(1, { leftMs: 9_990 })], [place(2)]), still)
  expect(renewed.holders[0]).toMatchObject({ endMs: 11_990, leaseMs: 9_990 })
})
