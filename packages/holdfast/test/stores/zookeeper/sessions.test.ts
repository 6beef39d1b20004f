import { expect, test, vi } from 'vitest'
import { ClosedError } from '../../../src/contract/errors.ts'
import { type Endable, Sessions } from '../../../src/stores/zookeeper/sessions.ts'

class Fake implements Endable {
  isIdle = true
  closed = 0
  readonly sessionMs: number

  constructor(sessionMs: number) {
    this.sessionMs = sessionMs
  }

  async close(): Promise<void> {
    this.closed++
  }
}

function sessions(): Sessions<Fake> {
  vi.useFakeTimers()
  return new Sessions({ make: (ms) => new Fake(ms), now: () => performance.now(), idleMs: 1_000, lastingMs: 10 })
}

test('one for each length; an idle one is ended, and made anew when it is asked for', () => {
  const all = sessions()
  const [first, lasting] = [all.of(40), all.of(10)]
  expect(all.of(40)).toBe(first)
  vi.advanceTimersByTime(2_000)
  expect([first.closed, lasting.closed]).toEqual([1, 0])
  expect(all.of(40)).not.toBe(first)
  expect(all.of(10)).toBe(lasting)
  vi.useRealTimers()
})

test('one in use is kept, and so is one that was used a moment ago', () => {
  const all = sessions()
  const [busy, late] = [all.of(20), all.of(30)]
  busy.isIdle = false
  vi.advanceTimersByTime(900)
  all.of(30)
  vi.advanceTimersByTime(100)
  expect([busy.closed, late.closed]).toEqual([0, 0])
  busy.isIdle = true
  vi.advanceTimersByTime(1_000)
  expect([busy.closed, late.closed]).toEqual([1, 1])
  expect(vi.getTimerCount(), 'nothing is left to watch').toBe(0)
  vi.useRealTimers()
})

test('closed: all of them, once, and no new one', async () => {
  const all = sessions()
  const session = all.of(20)
  await all.close()
  expect(session.closed).toBe(1)
  expect(vi.getTimerCount()).toBe(0)
  expect(() => all.of(20)).toThrow(ClosedError)
  vi.useRealTimers()
})
