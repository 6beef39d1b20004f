/** How long to wait before the next try. */
import { expect, test } from 'vitest'
import { Backoff, backoffMs } from '../../../src/stores/shared/backoff.ts'

const range = { backoffMinMs: 50, backoffMaxMs: 2_000 }

test('the pause doubles up to the cap, and stays there for ever', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 1_000].map((failures) => backoffMs(failures, range, 1))).toEqual([
    50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000,
  ])
})

test('it is spread over the whole step, or over the part above the least share', () => {
  expect([0, 0.5, 1].map((random) => backoffMs(3, range, random))).toEqual([0, 200, 400])
  expect([0, 0.5, 1].map((random) => backoffMs(3, range, random, 0.5))).toEqual([200, 300, 400])
})

test('the first try after a success is at once', () => {
  const backoff = new Backoff({ ...range, random: () => 1 })
  expect([backoff.next(), backoff.next(), backoff.next()]).toEqual([0, 50, 100])
  backoff.reset()
  expect([backoff.next(), backoff.next()]).toEqual([0, 50])
})
