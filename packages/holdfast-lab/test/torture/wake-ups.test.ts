/** Wake-ups per release, on histories of a crowd: five processes take turns, and all others wait meanwhile. */
import { expect, test } from 'vitest'
import { judge } from '../../src/torture/checker/judge.ts'
import { Story } from './story.ts'

const PROCESSES = 5
const HOLDS = 40

/** After each release so many of those who wait are woken. */
function crowd(wakes: number, o: { readonly fair?: boolean; readonly processes?: number } = {}): Story {
  const processes = o.processes ?? PROCESSES
  const story = new Story({ clients: processes, fair: o.fair ?? true })
  for (let n = 0; n < HOLDS; n++) {
    const asked = Math.max(0, (n - processes) * 10 + 9.5)
    story.hold(`c${1 + (n % processes)}`, n * 10 + 1, { asked, to: n * 10 + 9, token: n + 1 })
    for (let woken = 0; woken < wakes; woken++) story.woken(`c${1 + ((n + 1 + woken) % processes)}`, n * 10 + 9.2)
  }
  return story
}

function broken(story: Story): string[] {
  return [...new Set(judge(story.events).violations.map(({ rule }) => rule))]
}

test('a release that wakes the next is fine, also when a wake-up is doubled now and then', () => {
  expect(broken(crowd(1))).toEqual([])
  const doubled = crowd(1)
  for (let n = 0; n < HOLDS; n += 3) doubled.woken('c1', n * 10 + 9.3)
  expect(broken(doubled)).toEqual([])
  expect(judge(crowd(1).events).counts.wakeUps).toEqual({ releases: HOLDS - 3, wakes: HOLDS - 3 })
})

test('a herd is found', () => {
  const { violations } = judge(crowd(4).events)
  expect(violations.map(({ rule }) => rule)).toEqual(['wake-ups'])
  expect(violations[0]?.message).toMatch(/^148 waiters were woken by 37 releases/)
})

test('nothing is said of a store that promises no order, nor of a line without a crowd', () => {
  expect(broken(crowd(4, { fair: false }))).toEqual([])
  expect(broken(crowd(4, { processes: 2 }))).toEqual([])
})

test('who looks again because the servers were out of order is no herd', () => {
  expect(broken(crowd(4).fault('kill-server', 'redis-1', 5, 300))).toEqual([])
  expect(broken(crowd(4).fault('pause-client', 'c1', 5, 300))).toEqual(['wake-ups'])
})
