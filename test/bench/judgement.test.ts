/** The bench's own eyes: it must see two holders at once, and must not take noise for a result. */
import { expect, test } from 'vitest'

interface Notes {
  readonly holds: Float64Array
  readonly calls: null
}
type Figures = Record<string, number>
interface Bar {
  readonly case: string
  readonly metric: string
  readonly of?: string
  readonly atLeast?: number
  readonly atMost?: number
}
interface Series {
  readonly adapter: { readonly name: string; readonly role: string }
  readonly rounds: readonly Record<string, Figures>[]
}

// The bench is plain JavaScript that the root's type check does not read.
const bench = (file: string): Promise<unknown> => import(new URL(`../../bench/${file}`, import.meta.url).href)
const { judgeHolds } = (await bench('contention.js')) as {
  judgeHolds: (notes: readonly Notes[], clients: number, from: number, until: number) => Figures
}
const { judge, compare } = (await bench('judge.js')) as {
  judge: (bar: Bar, all: readonly Series[], scenario: object) => { readonly verdict: string }
  compare: (ratio: { median: number; p25: number; p75: number }, better: 'more' | 'less') => string
}

/** Each hold: client, asked at, acquired at, began to release at. */
function notes(...holds: readonly (readonly [number, number, number, number])[]): Notes {
  return { holds: Float64Array.from(holds.flat()), calls: null }
}

test('two holders at once are seen, also when they are in different processes', () => {
  const apart = [notes([0, 0, 1, 2], [0, 4, 5, 6]), notes([1, 0, 3, 4])]
  expect(judgeHolds(apart, 2, 0, 10)).toMatchObject({
    overlaps: 0,
    handoversPerS: 200,
    handoverP50Ms: 1,
    longestWaitMs: 3,
  })
  const together = [notes([0, 0, 1, 4]), notes([1, 0, 3, 5])]
  expect(judgeHolds(together, 2, 0, 10)).toMatchObject({ overlaps: 1 })
  // A short hold inside a long one must not hide the one that follows it.
  const inside = [notes([0, 0, 1, 9]), notes([1, 0, 2, 3], [1, 3, 4, 5])]
  expect(judgeHolds(inside, 2, 0, 10)).toMatchObject({ overlaps: 2 })
})

test('only what happened in the window counts, and taking the lock again is no hand-over', () => {
  const all = [notes([0, 0, 1, 2], [0, 2, 11, 12], [0, 12, 13, 14], [1, 0, 15, 16], [1, 19, 21, 22])]
  expect(judgeHolds(all, 2, 10, 20)).toMatchObject({
    sectionsPerS: 300,
    handoversPerS: 100,
    jain: 0.9,
    longestWaitMs: 15,
  })
})

function series(name: string, role: string, ...figures: readonly number[]): Series {
  return { adapter: { name, role }, rounds: figures.map((rate) => ({ one: { rate } })) }
}

test('a bar is reached, missed, or unresolved when it lies inside the spread', () => {
  const scenario = { metrics: [{ key: 'rate', better: 'more' }] }
  const base = series('peer', 'peer', 10, 20, 10, 20)
  const slow = series('slow', 'peer', 1, 30, 1, 1)
  const judged = (ours: Series, bar: Partial<Bar>): string =>
    judge({ case: 'one', metric: 'rate', ...bar }, [ours, base, slow], scenario).verdict
  const ours = series('holdfast', 'ours', 9, 18, 9, 18)
  expect(judged(ours, { of: 'peer', atLeast: 0.8 })).toBe('reached')
  expect(judged(ours, { of: 'peer', atLeast: 0.95 })).toBe('missed')
  expect(judged(ours, { atLeast: 12 })).toBe('unresolved')
  expect(judged(ours, { atMost: 18 })).toBe('reached')
  expect(judged(ours, { of: 'absent', atLeast: 1 })).toBe('not measured')
  // The best peer is picked in each round: 10, 30, 10, 20.
  expect(judged(ours, { of: 'best peer', atLeast: 0.9 })).toBe('unresolved')
})

test('a difference inside the spread is no difference', () => {
  expect(compare({ median: 1.1, p25: 0.9, p75: 1.3 }, 'more')).toBe('unresolved')
  expect(compare({ median: 1.1, p25: 1.05, p75: 1.3 }, 'more')).toBe('better')
  expect(compare({ median: 1.1, p25: 1.05, p75: 1.3 }, 'less')).toBe('worse')
})
