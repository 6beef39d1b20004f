/** The rules about upgrades, breaks, several locks and crowds of readers, on histories that were written by hand. */
import { describe, expect, test } from 'vitest'
import type { Rule } from '../../src/torture/checker/finding.ts'
import { judge } from '../../src/torture/checker/judge.ts'
import { lacksLines, makeLines, nextErrand } from '../../src/torture/generator/plan.ts'
import { Random } from '../../src/torture/random.ts'
import { FencedResource } from '../../src/torture/referee/resource.ts'
import { Story } from './story.ts'

const RW = [{ name: 'rw', kind: 'rw' as const, capacity: 1_000_000 }]
const SHARE = { line: 'rw', exclusive: false, weight: 500_001 }
const READER = { line: 'rw', exclusive: false, weight: 1 }
const WRITER = { line: 'rw', exclusive: true, weight: 1_000_000 }

function violated(story: Story): Rule[] {
  return [...new Set(judge(story.events).violations.map(({ rule }) => rule))].toSorted()
}

describe('upgrades', () => {
  const upgraded = (): Story =>
    new Story({ lines: RW })
      .hold('c1', 0, { ...SHARE, token: 1_024, until: 1_000, to: 40 })
      .hold('c1', 20, { ...WRITER, over: 0, asked: 10, token: 1_025, until: 1_000, to: 30 })

  test('a reader that becomes a writer is one holder, not two', () => {
    expect(violated(upgraded())).toEqual([])
  })

  test('another writer between reading and writing is found', () => {
    expect(violated(upgraded().hold('c2', 15, { ...WRITER, token: 2_048, to: 18 }))).toContain('exclusion')
  })

  test('a reader beside the writing is found, one that left before it is not, whatever its token', () => {
    expect(violated(upgraded().hold('c2', 5, { ...READER, token: 2_048, to: 25 }))).toContain('exclusion')
    expect(violated(upgraded().hold('c2', 5, { ...READER, token: 2_048, to: 15 }))).toEqual([])
  })

  test('a later writer has a newer token than the upgrade', () => {
    expect(violated(upgraded().hold('c2', 50, { ...WRITER, token: 2_048, to: 60 }))).toEqual([])
    expect(violated(upgraded().hold('c2', 50, { ...WRITER, token: 900, to: 60 }))).toContain('tokens')
  })

  test('the resource takes an upgrade after newer readers, and not after a newer writer', () => {
    const resource = new FencedResource()
    const upgrade = { hold: 'u', token: '1025', exclusive: true, upgraded: true }
    expect(resource.accepts({ hold: 'r', token: '2048', exclusive: false })).toBe(true)
    expect(resource.accepts(upgrade)).toBe(true)
    expect(resource.accepts(upgrade)).toBe(true)
    expect(resource.accepts({ hold: 'w', token: '3072', exclusive: true })).toBe(true)
    expect(resource.accepts(upgrade)).toBe(false)
  })
})

describe('the resource', () => {
  test('turns an upgrade away once somebody has come in beside its writing', () => {
    const resource = new FencedResource()
    const upgrade = { hold: 'u', token: '1025', exclusive: true, upgraded: true }
    expect(resource.accepts(upgrade)).toBe(true)
    expect(resource.accepts({ hold: 'r', token: '2048', exclusive: false })).toBe(true)
    expect(resource.accepts(upgrade)).toBe(false)
  })
})

describe('stands-still', () => {
  /** c1 reads and waits to write, c2 waits behind it. */
  const circle = (ms: number): Story =>
    new Story({ lines: RW })
      .hold('c1', 0, { ...SHARE, token: 1_024, to: ms + 1 })
      .ask('c1', 10, undefined, { line: 'rw', over: 0 })
      .ask('c2', 20, undefined, { line: 'rw' })
      .exit('c2', ms, 'killed')
      .exit('c1', ms, 'killed')

  test('a line in which each waits for another is found', () => {
    expect(violated(circle(20_000))).toContain('stands-still')
  })

  test('it is not for as long as a lease and what it takes to notice, nor while something is broken', () => {
    expect(violated(circle(10_000))).not.toContain('stands-still')
    expect(violated(circle(20_000).fault('pause-server', 'redis', 1_000, 12_000))).not.toContain('stands-still')
  })

  test('nor while somebody acts, or where nobody waits', () => {
    const long = new Story({ lines: RW }).hold('c1', 0, { ...WRITER, token: 1_024, to: 30_000 })
    expect(violated(long.ask('c2', 20, 'fail', { line: 'rw' }))).toEqual([])
    const rest = new Story({ lines: RW }).hold('c1', 0, { ...WRITER, token: 1_024, to: 10 })
    expect(violated(rest.hold('c2', 40_000, { ...WRITER, token: 2_048, to: 40_010 }))).toEqual([])
  })
})

describe('served-early', () => {
  const told = (o: { readonly to?: number; readonly lost?: number } = {}): Story =>
    new Story().hold('c1', 0, { token: 1_024, until: 1_000, lost: 20, to: 21, released: 'fail', ...o }).broken(10)

  test('the next before the broken lease has run out is found, also after the holder was told and has let go', () => {
    expect(violated(told().hold('c2', 500, { token: 2_048, to: 510 }))).toEqual(['model', 'served-early'])
    expect(violated(told().hold('c2', 1_001, { token: 2_048, to: 1_010 }))).toEqual([])
  })

  test('not if the holder let go before it had heard of the break: its work was over', () => {
    const unheard = new Story().hold('c1', 0, { token: 1_024, until: 1_000, to: 21 }).broken(10)
    expect(violated(unheard.hold('c2', 22, { token: 2_048, to: 30 }))).toEqual([])
  })

  test('with now it is what was asked for', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, until: 1_000, lost: 20 }).broken(10, true)
    expect(violated(story.hold('c2', 500, { token: 2_048, to: 510 }))).toEqual([])
  })

  test('who let go before the store was asked was not broken, and a place that is handed on is the same', () => {
    const before = new Story().hold('c1', 0, { token: 1_024, until: 1_000, to: 5 }).broken(10)
    expect(violated(before.hold('c2', 12, { token: 2_048, to: 20 }))).toEqual([])
    expect(violated(told().hold('c1', 30, { token: 1_025, to: 40 }))).toEqual([])
  })

  test('other lines, and readers beside readers, are served', () => {
    const lines = [...RW, { name: 'm', kind: 'mutex' as const, capacity: 1 }]
    const story = new Story({ lines })
      .hold('c1', 0, { ...READER, token: 1_024, until: 1_000, lost: 20 })
      .broken(10, false, 'rw')
      .hold('c2', 30, { token: 2_048, to: 40 })
      .hold('c3', 30, { ...READER, token: 2_048, to: 40 })
    expect(violated(story)).toEqual([])
    expect(violated(story.hold('c2', 50, { ...WRITER, token: 3_072, to: 60 }))).toEqual(['model', 'served-early'])
  })
})

describe('given-up', () => {
  test('a grant to one who had given up is found', () => {
    expect(violated(new Story().hold('c1', 0, { to: 5, aborted: true }))).toEqual(['given-up'])
    expect(violated(new Story().hold('c1', 0, { to: 5 }))).toEqual([])
  })
})

describe('overtaking', () => {
  /** c2 waits to write from 5 on, behind a reader that stays until 100. */
  const waiting = (): Story =>
    new Story({ lines: RW })
      .hold('c1', 0, { ...READER, token: 1_024, to: 100 })
      .queued('c2', 5, 'rw')
      .hold('c2', 110, { ...WRITER, asked: 4, token: 2_048, to: 120 })

  test('a reader that asked after the writer stood in the line, and was served before it, is found', () => {
    const joined = { ...READER, token: 1_024, to: 60 }
    expect(violated(waiting().hold('c1', 50, { ...joined, asked: 10 }))).toEqual(['overtaking'])
    expect(violated(waiting().hold('c1', 50, { ...joined, asked: 4.5 }))).toEqual([])
    expect(violated(waiting().hold('c1', 130, { ...READER, asked: 10, token: 3_072, to: 140 }))).toEqual([])
  })

  test('a place that may have lapsed by a fault explains it', () => {
    const story = waiting().hold('c1', 50, { ...READER, asked: 10, token: 1_024, to: 60 })
    expect(violated(story.fault('pause-client', 'c2', 20, 30))).toEqual([])
  })

  test('a store that keeps no order promises nothing', () => {
    const story = new Story({ lines: RW, fair: false })
      .hold('c1', 0, { ...READER, token: 1_024, to: 100 })
      .queued('c2', 5, 'rw')
      .hold('c2', 110, { ...WRITER, asked: 4, token: 2_048, to: 120 })
      .hold('c1', 50, { ...READER, asked: 10, token: 1_024, to: 60 })
    expect(violated(story)).toEqual([])
  })
})

describe('the plan', () => {
  const pace = { stayMs: 10, restMs: 5, waitMs: 1_000, longEvery: 0, ttlMs: 300 }
  const lines = makeLines(['mutex', 'rw', 'mutex', 'semaphore'], 'x:')

  test('has every errand that may be drawn, the same from the same seed', () => {
    const draw = (): unknown[] => {
      const random = new Random(5)
      return Array.from({ length: 400 }, () =>
        nextErrand(lines, pace, random, ['visit', 'upgrade', 'several', 'readers']),
      )
    }
    const kinds = draw().map((errand) => (errand as { readonly kind: string }).kind)
    expect(new Set(kinds)).toEqual(new Set(['visit', 'upgrade', 'several', 'readers']))
    expect(draw()).toEqual(draw())
  })

  test('asks for several different mutexes, and for fifty readers of a read-write lock', () => {
    const random = new Random(7)
    for (let n = 0; n < 400; n++) {
      const errand = nextErrand(lines, pace, random, ['visit', 'several', 'readers'])
      if (errand.kind === 'several') expect(new Set(errand.lines.map(({ name }) => name)).size).toBe(2)
      if (errand.kind === 'readers') expect([errand.line.kind, errand.readers.length]).toEqual(['rw', 50])
    }
  })

  test('says which errands have no lines', () => {
    const one = makeLines(['mutex'], 'x:')
    expect(lacksLines(one, 'visit')).toBeNull()
    expect(lacksLines(one, 'several')).toMatch(/two mutexes/)
    expect(lacksLines(one, 'upgrade')).toMatch(/read-write/)
  })
})
