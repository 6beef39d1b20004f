/**
 * Histories are replayed through the model of a line: it explains what may happen, and each planted fault is found.
 * Where the other laws are blind to a fault, the test says that only this one sees it.
 */
import { describe, expect, test } from 'vitest'
import type { Finding, Rule } from '../../src/torture/checker/finding.ts'
import { judge } from '../../src/torture/checker/judge.ts'
import { model } from '../../src/torture/checker/model.ts'
import { makeTrial } from '../../src/torture/checker/trial.ts'
import { goodStory, Story } from './story.ts'

const RW = { lines: [{ name: 'm', kind: 'rw' as const, capacity: 1_000_000 }] }
const READER = { weight: 1, exclusive: false }
const WRITER = { weight: 1_000_000, exclusive: true }
const UPGRADEABLE = { weight: 500_001, exclusive: false }

function found(story: Story): readonly Finding[] {
  return model(makeTrial(story.events)).violations
}

/** What all laws together find. */
function rules(story: Story): Rule[] {
  return [...new Set(judge(story.events).violations.map(({ rule }) => rule))].toSorted()
}

function why(story: Story): string {
  const [first] = found(story)
  return first === undefined ? '' : first.message
}

describe('what may happen is explained', () => {
  test('a good history, and each way that a hold ends', () => {
    expect(found(goodStory(300))).toEqual([])
    const next = { token: 2_048, to: 2_000 }
    const first = { token: 1_024, until: 900 }
    expect(found(new Story().hold('c1', 0, { ...first, to: 10 }).hold('c2', 10, next))).toEqual([])
    expect(found(new Story().hold('c1', 0, first).hold('c2', 901, next))).toEqual([])
    expect(found(new Story().hold('c1', 0, first).exit('c1', 20, 'killed').hold('c2', 21, next))).toEqual([])
    const unheard = new Story().hold('c1', 0, { ...first, to: 10, released: 'unknown' })
    expect(found(unheard.hold('c2', 11, next))).toEqual([])
  })

  test('a place that is handed on inside its process, while another waits behind it', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, to: 5 }).hold('c1', 5.1, { asked: 3, token: 1_025, to: 9 })
    expect(found(story.hold('c2', 9.1, { asked: 1, token: 2_048, to: 12 }))).toEqual([])
  })

  test('readers beside each other, and an upgrade when the others have gone', () => {
    const story = new Story(RW)
      .hold('c1', 0, { ...UPGRADEABLE, token: 1_024, to: 50 })
      .hold('c2', 1, { ...READER, token: 2_048, to: 10 })
      .hold('c1', 11, { ...WRITER, asked: 5, over: 0, token: 1_025, to: 20 })
      .hold('c2', 20.1, { ...READER, asked: 12, token: 3_072, to: 30 })
    expect(found(story)).toEqual([])
  })

  test('a holder that stops because its own wall clock ran ahead, and nobody else', () => {
    const story = (target: string): Story =>
      new Story()
        .hold('c1', 0, { token: 1_024, until: 1_000, lost: 10, to: 11 })
        .fault('client-clock', target, 5, 6)
        .hold('c2', 12, { token: 2_048, to: 20 })
    expect(found(story('c1'))).toEqual([])
    expect(found(story('c2')).length).toBe(1)
  })

  test('a break that took effect before or after a release that came at the same time', () => {
    const story = (to: number): Story =>
      new Story().hold('c1', 0, { token: 1_024, until: 1_000, to, released: 'unknown' }).broken(10)
    expect(found(story(10).hold('c2', 12, { token: 2_048, to: 20 }))).toEqual([])
    expect(found(story(11).hold('c2', 12, { token: 2_048, to: 20 }))).toHaveLength(1)
  })

  test('a loss by a break that was over before its process was told of its grant, and no other', () => {
    const story = (asked: number): Story =>
      new Story(RW)
        .hold('c1', 0, { ...WRITER, token: 1_024, to: 5 })
        .broken(10)
        .hold('c2', 12, { ...READER, asked, token: 2_048, until: 1_000, lost: 13, to: 14, released: 'fail' })
    expect(found(story(9))).toEqual([])
    expect(found(story(11))).toHaveLength(1)
    // It waited behind a writer when the line was broken, and was granted its place long after that.
    const behind = new Story(RW)
      .hold('c1', 0, { ...WRITER, token: 1_024, until: 20 })
      .broken(10)
      .hold('c2', 21, { ...READER, asked: 9, token: 2_048, until: 1_000, lost: 22, to: 23, released: 'fail' })
    expect(found(behind)).toHaveLength(1)
  })

  test('a reader that is told to wait behind one that reads and waits to write', () => {
    const story = new Story(RW)
      .hold('c1', 0, { ...UPGRADEABLE, token: 1_024, to: 50 })
      .hold('c2', 1, { ...READER, token: 2_048, to: 10 })
      .hold('c1', 11, { ...WRITER, asked: 5, over: 0, token: 1_025, to: 20 })
      .hold('c3', 20.1, { ...READER, asked: 6, token: 3_072, to: 30 })
      .queued('c3', 7, 'm', false)
    expect(found(story)).toEqual([])
  })

  test('who is refused, or told to wait, while somebody is inside', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, to: 100 }).queued('c2', 50).ask('c2', 40, 'fail', ONCE)
    expect(found(story)).toEqual([])
  })
})

const ONCE = { waitMs: 0 }

describe('planted in a history by hand', () => {
  test('a grant while another is inside', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, to: 20 }).hold('c2', 10, { token: 2_048, to: 30 })
    expect(why(story)).toContain(
      'c2 (visit 1, token 2048) was told, that the line was its own: in front of it stood c1 0',
    )
  })

  test('a waiter that is served before one that came earlier', () => {
    // Both wait behind c1; c3 has the later place, is served first, and both are alone: no other law looks at it.
    const story = new Story()
      .hold('c1', 0, { token: 1_024, to: 10 })
      .hold('c3', 11, { asked: 3, token: 3_072, to: 20 })
      .hold('c2', 21, { asked: 2, token: 2_048, to: 30 })
    expect(why(story)).toContain('in front of it stood c2')
  })

  test('a heavy waiter that a light one overtakes: only this law sees it', () => {
    const lines = [{ name: 'm', kind: 'semaphore' as const, capacity: 3 }]
    const story = new Story({ lines })
      .hold('c1', 0, { token: 1_024, weight: 2, exclusive: false, to: 10 })
      .hold('c3', 5, { asked: 4, token: 3_072, weight: 1, exclusive: false, to: 8 })
      .hold('c2', 11, { asked: 2, token: 2_048, weight: 2, exclusive: false, to: 20 })
    expect(rules(story)).toEqual(['model'])
  })

  test('a place that asks later and has a lower token', () => {
    const story = new Story()
      .hold('c1', 0, { token: 9_216, to: 5, weight: 1, exclusive: false, line: 'm' })
      .hold('c2', 10, { token: 2_048, to: 15, weight: 1, exclusive: false })
    expect(why(story)).toContain('its token 2048 is lower than 9216')
  })

  test('a loss that nothing explains: only this law sees it', () => {
    const story = (): Story => new Story().hold('c1', 0, { token: 1_024, until: 1_000, lost: 20 })
    expect(why(story())).toContain('it stands in the line, and nobody has broken it')
    expect(rules(story())).toEqual(['model'])
    expect(found(story().broken(10))).toEqual([])
    expect(found(story().fault('flush', 'all', 10, 11, true))).toEqual([])
  })

  test('a release that is refused before the deadline: only this law sees it', () => {
    const story = (until: number): Story => new Story().hold('c1', 0, { token: 1_024, until, to: 20, released: 'fail' })
    expect(rules(story(1_000))).toEqual(['model'])
    expect(found(story(15))).toEqual([])
  })

  test('a broken place that goes when it is left', () => {
    const told = new Story().hold('c1', 0, { token: 1_024, until: 1_000, lost: 20, to: 21, released: 'fail' })
    expect(why(told.broken(10).hold('c2', 500, { token: 2_048, to: 510 }))).toContain('c1 0 (broken)')
  })

  test('an upgrade while others read, and a newcomer that is let in meanwhile', () => {
    const upgraded = (): Story =>
      new Story(RW)
        .hold('c1', 0, { ...UPGRADEABLE, token: 1_024, to: 50 })
        .hold('c1', 11, { ...WRITER, asked: 5, over: 0, token: 1_025, to: 20 })
    expect(why(upgraded().hold('c2', 1, { ...READER, token: 2_048, to: 15 }))).toContain('others read beside it: c2')
    expect(why(upgraded().hold('c2', 13, { ...READER, token: 2_048, to: 15 }))).toContain('in front of it stood c1 0')
  })

  test('a try that is refused where nobody stands: only this law sees it', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, to: 10 }).ask('c2', 5_000, 'fail', ONCE)
    expect(rules(story)).toEqual(['model'])
    expect(why(story)).toContain('c2 was refused: nobody can have stood in its way')
  })

  test('a wait that ends without a grant where nobody stands', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, to: 10 }).ask('c2', 5_000, 'fail', { waitMs: 0.01 })
    expect(why(story)).toContain('and was not served')
  })

  test('one that is told to wait where nobody stands: only this law sees it', () => {
    const story = new Story().hold('c1', 0, { token: 1_024, to: 10 })
    const told = story.hold('c2', 60, { asked: 50, token: 2_048, to: 70 }).queued('c2', 51)
    expect(rules(told)).toEqual(['model'])
    expect(why(told)).toContain('c2 was told to wait')
  })
})

test('the first event that nothing explains is shown with those around it', () => {
  const story = new Story()
  for (let n = 0; n < 40; n++) story.hold(`c${n % 3}`, n * 10, { to: n * 10 + 8, token: (n + 1) * 1_024 })
  story.hold('c3', 202, { token: 21_505, to: 203 })
  const [first] = found(story)
  expect(first?.at).toBe(202_000)
  const arrows = first?.around?.filter((text) => text.startsWith('→'))
  expect(arrows).toEqual(['→ 0.2020 s  c3 40 was granted it, token 21505'])
  expect(first?.around).toHaveLength(15)
})
