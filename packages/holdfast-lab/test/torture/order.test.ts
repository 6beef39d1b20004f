/** The search for an order, against every history that can be made of a few holds: it agrees with trying all orders. */
import { describe, expect, test } from 'vitest'
import { order } from '../../src/torture/checker/order.ts'
import { makeTrial } from '../../src/torture/checker/trial.ts'
import { Random } from '../../src/torture/random.ts'
import { Story } from './story.ts'

function explains(story: Story): boolean {
  return order(makeTrial(story.events)).violations.length === 0
}

describe('order', () => {
  test('one after the other is explained, two at once are not', () => {
    expect(explains(new Story().hold('c1', 0, { to: 5 }).hold('c2', 6, { to: 9 }))).toBe(true)
    expect(explains(new Story().hold('c1', 0, { to: 5 }).hold('c2', 3, { to: 9 }))).toBe(false)
  })

  test('tokens are part of the order', () => {
    expect(explains(new Story().hold('c1', 0, { to: 5, token: 2 }).hold('c2', 6, { to: 9, token: 1 }))).toBe(false)
    // Both waited all the time, and were served by their places, not by their calls.
    const waited = new Story().hold('c1', 5, { asked: 1, to: 6, token: 1 }).hold('c2', 8, { asked: 0, to: 9, token: 2 })
    expect(explains(waited)).toBe(true)
  })

  test('a hold that the store forgot may have ended by then', () => {
    const forgot = new Story().hold('c1', 0, { to: 20 }).fault('flush', 'all', 5, 5, true).hold('c2', 8, { to: 9 })
    expect(explains(forgot)).toBe(true)
  })

  test('agrees with trying all orders, on 3 000 small histories', () => {
    const random = new Random(11)
    let refused = 0
    for (let round = 0; round < 3_000; round++) {
      const count = random.whole(2, 5)
      const capacity = random.whole(1, 2)
      const lines = [{ name: 'm', kind: 'semaphore' as const, capacity }]
      const story = new Story({ lines })
      const holds: Small[] = []
      const tokens = random.shuffle(Array.from({ length: count }, (_, at) => at + 1))
      for (let at = 0; at < count; at++) {
        const asked = random.whole(0, 20)
        const from = asked + random.whole(0, 10) + 0.5
        const to = from + random.whole(0, 10) + 0.25
        const weight = random.whole(1, capacity)
        const small = { asked, from, to, weight, token: tokens[at] ?? 0, exclusive: weight === capacity }
        holds.push(small)
        story.hold(`c${at}`, from, small)
      }
      const expected = bruteForce(holds, capacity)
      expect(explains(story), JSON.stringify({ capacity, holds })).toBe(expected)
      if (!expected) refused += 1
    }
    expect(refused).toBeGreaterThan(300)
    expect(refused).toBeLessThan(2_900)
  })
})

interface Small {
  readonly asked: number
  readonly from: number
  readonly to: number
  readonly weight: number
  readonly token: number
  readonly exclusive: boolean
}

/** Every order of the grants; each happens as early as it can, and each hold lasts at least until its end was seen. */
function bruteForce(holds: readonly Small[], capacity: number): boolean {
  const go = (order: readonly Small[], left: readonly Small[], now: number): boolean => {
    if (left.length === 0) return true
    return left.some((next) => {
      const others = left.filter((other) => other !== next)
      // It may wait for room: at its own earliest, or at the end of any before it.
      const times = [Math.max(now, next.asked), ...order.map(({ to }) => Math.max(now, next.asked, to))]
      return times.some((at) => {
        if (at > next.from) return false
        const inside = order.filter(({ to }) => to > at).reduce((sum, { weight }) => sum + weight, 0)
        if (inside + next.weight > capacity) return false
        const bars = order.filter(({ exclusive }) => next.exclusive || exclusive).map(({ token }) => token)
        if (bars.some((token) => token >= next.token)) return false
        return go([...order, next], others, at)
      })
    })
  }
  return go([], holds, 0)
}
