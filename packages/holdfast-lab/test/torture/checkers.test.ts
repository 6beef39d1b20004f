/** Every checker on histories that were written by hand: it finds what is there, and nothing else. */
import { describe, expect, test } from 'vitest'
import type { Rule } from '../../src/torture/checker/finding.ts'
import { judge } from '../../src/torture/checker/judge.ts'
import { goodStory, Story } from './story.ts'

function violated(story: Story): Rule[] {
  return [...new Set(judge(story.events).violations.map(({ rule }) => rule))].toSorted()
}

function exposed(story: Story): Rule[] {
  return [...new Set(judge(story.events).exposures.map(({ rule }) => rule))].toSorted()
}

describe('a good history', () => {
  test('is valid', () => {
    const { verdict, violations, exposures } = judge(goodStory().events)
    expect({ verdict, violations, exposures }).toEqual({ verdict: 'valid', violations: [], exposures: [] })
  })

  test('with too few grants, without faults, or with faults that met nobody is unknown', () => {
    expect(judge(goodStory(5).events).verdict).toBe('unknown')
    const untouched = new Story()
    for (let n = 0; n < 30; n++) untouched.hold('c1', n * 10, { to: n * 10 + 5, token: n + 1 })
    expect(judge(untouched.events).doubts).toEqual(['no fault was made'])
    untouched.fault('pause-holder', 'c1', 7, 8)
    expect(judge(untouched.events).doubts).toEqual(['no fault ever met a holder'])
    untouched.fault('pause-holder', 'c1', 13, 14)
    expect(judge(untouched.events).verdict).toBe('valid')
  })

  test('in which a client never got anything is unknown: what was done to it met nobody', () => {
    const { verdict, doubts } = judge(goodStory().ask('c4', 5, 'unknown').events)
    expect({ verdict, doubts }).toEqual({ verdict: 'unknown', doubts: ['c4 was never granted anything'] })
    const again = goodStory().ask('c4', 5, 'unknown').hold('c4.1', 500, { to: 505, token: 99 })
    expect(judge(again.events).verdict).toBe('valid')
  })
})

describe('exclusion', () => {
  test('two who hold at once are found', () => {
    expect(violated(new Story().hold('c1', 0, { to: 20 }).hold('c2', 10, { to: 30 }))).toContain('exclusion')
  })

  test('a belief ends with the own deadline, with the news of the loss, and with the process', () => {
    expect(
      violated(new Story().hold('c1', 0, { until: 9, to: 20, released: 'fail' }).hold('c2', 10, { to: 30 })),
    ).toEqual([])
    expect(violated(new Story().hold('c1', 0, { lost: 9 }).hold('c2', 10, { to: 30 }))).toEqual([])
    expect(violated(new Story().hold('c1', 0).exit('c1', 9, 'killed').hold('c2', 10, { to: 30 }))).toEqual([])
  })

  test('a release that succeeded shows that it held until then, whatever deadline was seen last', () => {
    expect(violated(new Story().hold('c1', 0, { until: 9, to: 20 }).hold('c2', 10, { to: 30 }))).toContain('exclusion')
  })

  test('weights count: three permits carry two and one, not two and two', () => {
    const lines = [{ name: 's', kind: 'semaphore' as const, capacity: 3 }]
    const permits = { line: 's', exclusive: false }
    const two = (): Story => new Story({ lines }).hold('c1', 0, { ...permits, weight: 2, to: 20 })
    expect(violated(two().hold('c2', 10, { ...permits, weight: 1, to: 30 }))).toEqual([])
    expect(violated(two().hold('c2', 10, { ...permits, weight: 2, to: 30 }))).toContain('exclusion')
  })

  test('a reader beside a writer is found, readers beside each other are fine', () => {
    const lines = [{ name: 'rw', kind: 'rw' as const, capacity: 1_000_000 }]
    const reader = { line: 'rw', exclusive: false, weight: 1 }
    const readers = (): Story =>
      new Story({ lines }).hold('c1', 0, { ...reader, to: 20 }).hold('c2', 5, { ...reader, to: 20 })
    expect(violated(readers())).toEqual([])
    expect(violated(readers().hold('c3', 10, { line: 'rw', weight: 1_000_000, to: 30 }))).toContain('exclusion')
  })

  test('is an exposure where the store forgot meanwhile, and only there', () => {
    const forgot = new Story()
      .hold('c1', 0, { to: 20, token: 1 })
      .fault('flush', 'all data', 8, 8, true)
      .hold('c2', 10, { to: 30, token: 2 })
    expect(violated(forgot)).toEqual([])
    expect(exposed(forgot)).toContain('exclusion')
    const before = new Story()
      .fault('flush', 'all data', 1, 1, true)
      .hold('c1', 2, { to: 20 })
      .hold('c2', 10, { to: 30 })
    expect(violated(before)).toContain('exclusion')
  })

  test('also where its place was handed on after that; a place that is younger explains nothing', () => {
    const handed = (token: number): Story =>
      new Story()
        .hold('c1', 0, { to: 5, token })
        .fault('flush', 'all data', 6, 6, true)
        .hold('c1', 8, { to: 20, token: 1_025 })
        .hold('c2', 10, { to: 30, token: 2_048 })
    expect(violated(handed(1_024))).toEqual([])
    expect(exposed(handed(1_024))).toContain('exclusion')
    expect(violated(handed(512))).toEqual(['exclusion', 'model', 'order', 'owner'])
  })

  test('also where another had been granted it before the forgotten place was handed on', () => {
    const crossed = (story: Story): Story =>
      story
        .hold('c2', 10, { to: 30, token: 2_048 })
        .hold('c1', 12, { asked: 7, to: 20, token: 1_025 })
        .hold('c1', 21, { asked: 8, to: 22, token: 1_026 })
    const forgot = crossed(new Story().hold('c1', 0, { to: 5, token: 1_024 }).fault('flush', 'all data', 6, 6, true))
    expect(violated(forgot)).toEqual([])
    expect(exposed(forgot)).toEqual(['exclusion', 'owner'])
    const kept = crossed(new Story().hold('c1', 0, { to: 5, token: 1_024 }))
    expect(violated(kept)).toEqual(expect.arrayContaining(['exclusion', 'owner']))
  })

  test('also where its grant was written down a little after the store forgot it, and not much later', () => {
    const told = (at: number): Story =>
      new Story()
        .fault('flush', 'all data', 6, 6, true)
        .hold('c1', at, { asked: 4, to: 200, token: 1_024 })
        .hold('c2', at + 2, { to: 300, token: 2_048 })
    expect(violated(told(30))).toEqual([])
    expect(violated(told(100))).toContain('exclusion')
  })
})

test('exclusion: of three permits one that the store forgot is enough to explain a fourth', () => {
  const lines = [{ name: 's', kind: 'semaphore' as const, capacity: 3 }]
  const permits = { line: 's', exclusive: false }
  const story = new Story({ lines }).hold('c1', 0, { ...permits, weight: 2, to: 20 }).fault('flush', 'all', 5, 5, true)
  story.hold('c2', 8, { ...permits, weight: 1, to: 20 }).hold('c3', 10, { ...permits, weight: 2, to: 20 })
  expect(violated(story)).toEqual([])
  expect(exposed(story)).toEqual(['exclusion'])
  story.hold('c4', 12, { ...permits, weight: 2, to: 20 })
  expect(violated(story)).toContain('exclusion')
})

describe('effects', () => {
  test('a step between the steps of another is found where tokens were accepted', () => {
    const lost = new Story()
      .hold('c1', 0, { until: 5, token: 1, steps: [1, 4] })
      .hold('c2', 2, { until: 9, token: 2, steps: [3, 5] })
    expect(violated(lost)).toContain('effects')
  })

  test('readers may mix', () => {
    const lines = [{ name: 'rw', kind: 'rw' as const, capacity: 1_000_000 }]
    const reader = { line: 'rw', exclusive: false, weight: 1, to: 20 }
    const story = new Story({ lines })
      .hold('c1', 0, { ...reader, steps: [1, 5] })
      .hold('c2', 0, { ...reader, steps: [3, 7] })
    expect(violated(story)).toEqual([])
  })
})

describe('tokens', () => {
  test('one that falls or is given twice is found', () => {
    expect(violated(new Story().hold('c1', 0, { to: 5, token: 7 }).hold('c2', 10, { to: 15, token: 6 }))).toContain(
      'tokens',
    )
    expect(violated(new Story().hold('c1', 0, { to: 5, token: 7 }).hold('c2', 10, { to: 15, token: 7 }))).toContain(
      'tokens',
    )
  })

  test('also where the store forgot: that is what they are for', () => {
    const story = new Story()
      .hold('c1', 0, { to: 5, token: 7 })
      .fault('flush', 'all', 6, 6, true)
      .hold('c2', 10, { to: 15, token: 6 })
    expect(violated(story)).toContain('tokens')
  })

  test('save where a clock went back and data were lost: the exception that a store names', () => {
    const fell = (story: Story): Story =>
      story.hold('c1', 2, { to: 5, token: 7_168 }).hold('c2', 10, { to: 15, token: 6_144 })
    const clock = (): Story => new Story().fault('clock-forward', 'redis-1', 1, 6, true)
    expect(violated(fell(clock()))).toEqual(['order', 'tokens'])
    expect(violated(fell(new Story().fault('flush', 'all', 7, 7, true)))).toEqual(['model', 'order', 'tokens'])
    const both = fell(clock().fault('flush', 'all', 7, 7, true))
    expect(violated(both)).toEqual([])
    expect(exposed(both)).toEqual(['tokens'])
  })

  test('a clock that was an hour ahead explains it for an hour, one of seconds does not', () => {
    const fell = (nemesis: 'clock-hour' | 'clock-forward'): Story =>
      new Story()
        .fault(nemesis, 'mariadb-1', 0, 1, true)
        .hold('c1', 2, { to: 5, token: 7_168 })
        .fault('lag', 'mariadb-1', 7, 7, true)
        .hold('c2', 10, { to: 15, token: 6_144 })
    expect(violated(fell('clock-hour'))).toEqual([])
    expect(exposed(fell('clock-hour'))).toEqual(['tokens'])
    expect(violated(fell('clock-forward'))).toContain('tokens')
  })

  test('one that comes again is excused by the same, and by nothing else', () => {
    const again = (story: Story): Story =>
      story.hold('c1', 2, { to: 5, token: 7_168 }).hold('c1', 10, { to: 15, token: 7_168 })
    const clock = (): Story => new Story().fault('clock-forward', 'redis-1', 1, 6, true)
    expect(violated(again(clock()))).toContain('tokens')
    expect(violated(again(new Story().fault('flush', 'all', 7, 7, true)))).toContain('tokens')
    const both = again(clock().fault('flush', 'all', 7, 7, true))
    expect(violated(both)).toEqual([])
    expect(exposed(both)).toContain('tokens')
  })

  test('a waiter with an older place may not be granted after a younger one', () => {
    const story = new Story().hold('c1', 5, { to: 8, token: 9 }).hold('c2', 10, { asked: 1, to: 15, token: 8 })
    expect(violated(story)).toContain('tokens')
  })

  test('a place handed on in its process after the store forgot it: an exposure, else a violation', () => {
    const handed = (story: Story): Story =>
      story.hold('c2', 10, { to: 12, token: 2_048 }).hold('c1', 15, { to: 18, token: 1_025 })
    const forgot = handed(new Story().hold('c1', 0, { to: 5, token: 1_024 }).fault('flush', 'all', 6, 6, true))
    expect(violated(forgot)).toEqual([])
    expect(exposed(forgot)).toEqual(['tokens'])
    expect(violated(handed(new Story().hold('c1', 0, { to: 5, token: 1_024 })))).toContain('tokens')
  })

  test('a place that was handed on has the age of its first grant', () => {
    const story = new Story()
      .fault('clock-forward', 'redis-1', 0, 1, true)
      .hold('c1', 2, { to: 4, token: 9_216 })
      .fault('flush', 'all', 4.5, 4.5, true)
      .hold('c1', 5, { to: 8, token: 9_217 })
      .hold('c2', 10, { to: 15, token: 6_144 })
    // The clock may still give what it had no right to for as long as its fault says; here, until the end.
    const graced = story.events.map((event) =>
      event.e === 'healed' ? { ...event, graceMs: 4_000 * (1 - event.id) } : event,
    )
    expect(judge(graced).violations).toEqual([])
    expect(judge(graced).exposures.map(({ rule }) => rule)).toEqual(['tokens'])
  })

  test('a grant that reaches its caller after its own deadline was none: the process stood still in between', () => {
    const late = (until: number): Story =>
      new Story()
        .hold('c1', 20, { asked: 1, until, token: 1_024, lost: 21 })
        .hold('c2', 10, { to: 15, token: 2_048 })
        .hold('c3', 19, { to: 30, token: 3_072 })
    expect(violated(late(20))).toEqual([])
    expect(violated(late(40))).toEqual(['exclusion', 'model', 'order', 'owner', 'tokens'])
  })

  test('above 2^53 they are compared exactly', () => {
    const story = new Story()
    story.hold('c1', 0, { to: 5 }).hold('c2', 10, { to: 15 })
    const big = story.events.map((event) =>
      event.e === 'acquired' ? { ...event, token: event.p === 'c1' ? '9007199254740993' : '9007199254740992' } : event,
    )
    expect(judge(big).violations.map(({ rule }) => rule)).toContain('tokens')
  })
})

describe('owner', () => {
  test('a release that succeeds after another was granted the line is found', () => {
    expect(violated(new Story().hold('c1', 0, { to: 20 }).hold('c2', 10, { to: 15 }))).toContain('owner')
    expect(
      violated(new Story().hold('c1', 0, { until: 8, to: 20, released: 'fail' }).hold('c2', 10, { to: 15 })),
    ).toEqual([])
  })
})

describe('honest loss', () => {
  test('a step after the own deadline is found', () => {
    expect(violated(new Story().hold('c1', 0, { until: 10, steps: [12] }))).toEqual(['honest-loss'])
  })

  test('a step after a standstill longer than the lease is found, whatever the client says of its deadline', () => {
    const stopped = (ms: number): Story =>
      new Story().hold('c1', 0, { until: 9_000, steps: [10 + ms], to: 20 + ms }).fault('pause-holder', 'c1', 5, 5 + ms)
    expect(violated(stopped(1_100))).toEqual(['honest-loss'])
    expect(violated(stopped(900))).toEqual([])
  })

  test('a standstill before the grant is none of its business', () => {
    const story = new Story().fault('pause-client', 'c1', 0, 1_500).hold('c1', 1_600, { steps: [1_610], to: 1_620 })
    expect(violated(story)).toEqual([])
  })
})

describe('after the faults', () => {
  test('a line that is not served, or too late, is found', () => {
    expect(violated(goodStory().probe(400, 100))).toEqual([])
    expect(violated(goodStory().probe(400, 100, 'fail'))).toEqual(['lost-lock'])
    expect(violated(goodStory().probe(400, 60_000))).toEqual(['lost-lock'])
  })

  test('what is left in the store is found', () => {
    expect(violated(goodStory().left(400, 0, 0))).toEqual([])
    expect(violated(goodStory().left(400, 0, 1))).toEqual(['left-behind'])
  })

  test('a wait without an end is found, but not of one that was killed', () => {
    expect(violated(goodStory().ask('c1', 100))).toEqual(['waiters'])
    expect(violated(goodStory().ask('c1', 100).exit('c1', 110, 'killed'))).toEqual([])
    expect(violated(goodStory().ask('c1', 100, 'fail').ask('c1', 200, 'unknown'))).toEqual([])
    expect(violated(goodStory().exit('c1', 400, 'stuck'))).toEqual(['waiters'])
    expect(violated(goodStory().exit('c1', 400, 'crashed'))).toEqual(['waiters'])
  })
})

test('fairness: a waiter that is passed over by all others all the time is found', () => {
  const story = goodStory(300)
  story.hold('c4', 3_005, { asked: 20, to: 3_008, token: 1_000 })
  expect(violated(story)).toEqual([])
  const unfair = new Story()
  for (let n = 0; n < 300; n++) unfair.hold(`c${1 + (n % 2)}`, n * 10, { to: n * 10 + 8, token: n + 1 })
  expect(violated(unfair.hold('c3', 3_005, { asked: 20, to: 3_008, token: 1_000 }))).toEqual(['fairness'])
})
