/**
 * What is exported can be read by others: each format is read back by a reader of its own, and judged as Porcupine,
 * Knossos and Elle would. What was run of those three: docs/explain/torture.md.
 */
import { describe, expect, test } from 'vitest'
import { makeTrial } from '../../src/torture/checker/trial.ts'
import { edn, keyword } from '../../src/torture/exchange/edn.ts'
import { exported, type ExportOptions } from '../../src/torture/exchange/formats.ts'
import type { HistoryEvent } from '../../src/torture/history/event.ts'
import { ListResource } from '../../src/torture/referee/resource.ts'
import { judgeAppends } from './append-judge.ts'
import { type Read, readEdn, ReadString } from './edn-reader.ts'
import { readJepsen, type ReadOp } from './jepsen-reader.ts'
import { goodStory, Story } from './story.ts'
import { linearizes } from './wing-gong.ts'

function text(events: readonly HistoryEvent[], o: Partial<ExportOptions>): string {
  const options = { format: 'edn', line: null, resource: 'guarded', ...o } as const
  return [...exported(makeTrial(events), options)].join('\n')
}

/** The mutex of Knossos: free, it can be acquired; taken, it can be released. */
function isMutex(ops: readonly ReadOp[]): boolean {
  return linearizes(
    ops.filter(({ type }) => type !== 'fail'),
    'free',
    (state, { f }) => (f === ':acquire' ? (state === 'free' ? 'taken' : null) : state === 'taken' ? 'free' : null),
  )
}

describe('EDN', () => {
  test('what is written is read back', () => {
    const value = { a: 1, b: [keyword('r'), -2.5, null, []], c: { d: 'x "y" \\ ;z' } }
    expect(readEdn(edn(value))).toEqual([
      { ':a': 1, ':b': [':r', -2.5, null, []], ':c': { ':d': new ReadString('x "y" \\ ;z') } },
    ])
  })

  test('the reader refuses what is no EDN', () => {
    for (const bad of ['{:a}', '[1 2', '1]', '{:a 1 :a 2}', '"x', ':', '01', '{:a 1]', '"\\q"', '1x', '@'])
      expect(() => readEdn(bad), bad).toThrow(SyntaxError)
    expect(readEdn('; a comment\n[1, 2] nil ; another')).toEqual([[1, 2], null])
  })

  test('a history in which a process does two things at once is refused', () => {
    const invoke = (index: number): string =>
      `{:index ${index}, :type :invoke, :f :acquire, :value nil, :process 1, :time ${index}}`
    const ok = '{:index 1, :type :ok, :f :acquire, :value nil, :process 1, :time 1}'
    expect(readJepsen([invoke(0), ok].join('\n'))).toHaveLength(1)
    expect(() => readJepsen([invoke(0), invoke(1)].join('\n'))).toThrow(/can't do/)
    expect(() => readJepsen(ok.replace('1', '0'))).toThrow(/was not asked/)
    expect(() => readJepsen([invoke(0), ok.replace(':ok', ':done')].join('\n'))).toThrow(/no type/)
  })
})

describe('edn, for Knossos', () => {
  test('a good history is one of a mutex', () => {
    const ops = readJepsen(text(goodStory(60).events, {}))
    expect(ops.filter(({ f }) => f === ':acquire')).toHaveLength(60)
    expect(ops.filter(({ f }) => f === ':release')).toHaveLength(60)
    expect(isMutex(ops)).toBe(true)
  })

  test('each way that a hold ends is a release', () => {
    const next = { to: 2_000 }
    const lapsed = new Story().hold('c1', 0, { until: 900 }).hold('c2', 901, next)
    const killed = new Story().hold('c1', 0).exit('c1', 20, 'killed').hold('c2', 21, next)
    const forgotten = new Story().hold('c1', 0, { to: 30 }).fault('flush', 'all', 5, 6, true).hold('c2', 10, next)
    const refused = new Story().hold('c1', 0, { to: 30 }).ask('c2', 10, 'fail').ask('c3', 11, 'unknown')
    for (const story of [lapsed, killed, forgotten, refused])
      expect(isMutex(readJepsen(text(story.events, {})))).toBe(true)
  })

  test('two who hold at once are found in the export', () => {
    const story = goodStory(60).hold('c9', 302, { token: 999, to: 303 })
    expect(isMutex(readJepsen(text(story.events, {})))).toBe(false)
  })

  test('of several mutexes one must be chosen', () => {
    const lines = ['a:one', 'a:two'].map((name) => ({ name, kind: 'mutex' as const, capacity: 1 }))
    const story = new Story({ lines }).hold('c1', 0, { line: 'a:one', to: 5 }).hold('c2', 1, { line: 'a:two', to: 5 })
    expect(() => text(story.events, {})).toThrow(/choose one with --line: a:one, a:two/)
    expect(readJepsen(text(story.events, { line: 'two' }))).toHaveLength(2)
  })
})

interface Porcupine {
  readonly ClientId: number
  readonly Input: { op: string; line: string; visit: string; over: string | null; weight: number; capacity: number }
  readonly Call: number
  readonly Output: { ok: boolean; token: string | null }
  readonly Return: number
}

/** The model of docs/explain/torture.md: who is inside, and what all of them weigh. */
function fits(ops: readonly Porcupine[]): boolean {
  return linearizes(
    ops.filter(({ Output }) => Output.ok).map((op) => ({ ...op, call: op.Call, answered: op.Return })),
    '{}',
    (state, { Input: { op, visit, over, weight, capacity } }) => {
      const inside = JSON.parse(state) as Record<string, number>
      const base = over === null ? 0 : (inside[over] ?? 0)
      const sum = Object.values(inside).reduce((all, each) => all + each, -base)
      if (op === 'acquire')
        return sum + weight > capacity ? null : JSON.stringify(sorted({ ...inside, [visit]: weight - base }))
      if (!(visit in inside)) return null
      return JSON.stringify(sorted(Object.fromEntries(Object.entries(inside).filter(([name]) => name !== visit))))
    },
  )
}

function sorted(inside: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(inside).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

describe('porcupine', () => {
  const read = (story: Story): Porcupine[] =>
    text(story.events, { format: 'porcupine' })
      .split('\n')
      .map((line) => JSON.parse(line) as Porcupine)

  test('operations of clients that do one thing at a time, with numbers as Go reads them', () => {
    const last = new Map<number, number>()
    for (const { ClientId, Call, Return } of read(goodStory(60))) {
      expect([ClientId, Call, Return].every(Number.isSafeInteger)).toBe(true)
      expect(Call).toBeGreaterThanOrEqual(last.get(ClientId) ?? Call)
      expect(Return).toBeGreaterThanOrEqual(Call)
      last.set(ClientId, Return)
    }
  })

  test('a good history fits, one with two at once does not', () => {
    expect(fits(read(goodStory(60)))).toBe(true)
    expect(fits(read(goodStory(60).hold('c9', 302, { token: 999, to: 303 })))).toBe(false)
  })

  test('permits, readers and upgrades are weighed', () => {
    const lines = [{ name: 'm', kind: 'rw' as const, capacity: 10 }]
    const story = (readerTo: number): Story =>
      new Story({ lines })
        .hold('c1', 0, { weight: 6, exclusive: false, to: 50 })
        .hold('c2', 1, { weight: 1, exclusive: false, to: readerTo })
        .hold('c1', 11, { weight: 10, asked: 5, over: 0, to: 20 })
    expect(fits(read(story(10)))).toBe(true)
    expect(fits(read(story(15)))).toBe(false)
  })
})

describe('list-append, for Elle', () => {
  /** Visits that read at one moment and write at another, on the lists of the referee. */
  function visits(spans: readonly { p: string; read: number; write: number; token: number }[]): HistoryEvent[] {
    const story = new Story()
    const steps: { at: number; i: number; what: 'read' | 'write' }[] = []
    for (const [i, { p, read, write, token }] of spans.entries()) {
      story.hold(p, read, { to: write + 0.5, token })
      steps.push({ at: read + 0.1, i, what: 'read' }, { at: write, i, what: 'write' })
    }
    const list = new ListResource()
    const effects = steps
      .toSorted((a, b) => a.at - b.at)
      .map(({ at, i, what }): HistoryEvent => {
        const { p, token } = spans[i] as (typeof spans)[number]
        const { accepted, saw } = list.step(
          { hold: `${p} ${i}`, token: String(token), exclusive: true },
          what === 'write',
        )
        const t = at * 1_000
        return { e: 'effect', t, p, i, line: 'm', what, begun: t - 1, token: String(token), accepted, saw }
      })
    return [...story.events, ...effects].toSorted((a, b) => a.t - b.t)
  }
  const inTurn = (count: number): { p: string; read: number; write: number; token: number }[] =>
    Array.from({ length: count }, (_, n) => ({ p: `c${n % 3}`, read: n * 10, write: n * 10 + 5, token: n + 1 }))
  const judged = (events: readonly HistoryEvent[], resource: 'guarded' | 'open'): string[] =>
    judgeAppends(readJepsen(text(events, { format: 'list-append', resource })))

  test('visits in turn are explained, over several blocks of the list', () => {
    const events = visits(inTurn(200))
    expect(judged(events, 'open')).toEqual([])
    expect(judged(events, 'guarded')).toEqual([])
    const ops = readJepsen(text(events, { format: 'list-append' }))
    const reads = ((ops.at(-1) as ReadOp).value as Read[][])
      .filter(([f]) => f === ':r')
      .map(([, , list]) => list as number[])
    expect(reads.flat()).toEqual(Array.from({ length: 71 }, (_, at) => 128 + at))
  })

  test.each([0, 30, 62, 63, 64, 127, 150])('a lost update is a circle, wherever it is: after %d', (n) => {
    const spans = inTurn(200)
    const late = spans[n] as (typeof spans)[number]
    // It reads, the next reads and writes, and then it writes: what both read was the same.
    spans[n] = { ...late, write: late.write + 12 }
    const events = visits(spans)
    expect(judged(events, 'open').join()).toContain('came before the next')
    // The list that checks tokens refused the late one.
    expect(judged(events, 'guarded')).toEqual([])
  })

  test('what was read and added by nobody is found', () => {
    const events = visits(inTurn(20)).filter(
      (event) => !(event.e === 'effect' && event.what === 'write' && event.i === 7),
    )
    expect(judged(events, 'open').join()).toContain('7 was read of 0, and added by nobody')
  })

  test('a history without lists is refused', () => {
    expect(() => text(goodStory().events, { format: 'list-append' })).toThrow(/older version/)
  })
})
