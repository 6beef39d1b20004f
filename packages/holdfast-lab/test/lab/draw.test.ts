/** The drawing: from what was written down to letters and to SVG. */
import { describe, expect, test } from 'vitest'
import { draw } from '../../src/lab/draw.ts'
import { type Exhibit, resultOf } from '../../src/lab/exhibit.ts'
import { htmlReport } from '../../src/lab/html.ts'
import { picture } from '../../src/lab/picture.ts'
import { Play } from '../../src/lab/play.ts'
import { svg } from '../../src/lab/svg.ts'
import { actText, endText } from '../../src/lab/text.ts'
import { holdersAtOnce, overlaps, type Span, type Timeline } from '../../src/lab/timeline.ts'

const hold = (row: string, fromMs: number, toMs: number): Span => ({ row, kind: 'hold', fromMs, toMs })

const STORY: Timeline = {
  rows: ['A', 'B'],
  spans: [
    hold('A', 0, 900),
    { row: 'A', kind: 'stopped', fromMs: 100, toMs: 700 },
    { row: 'B', kind: 'wait', fromMs: 100, toMs: 600 },
    hold('B', 600, 1_000),
  ],
  moments: [
    { row: 'A', kind: 'step', atMs: 0, text: 'takes it' },
    { row: 'A', kind: 'fault', atMs: 100, text: 'stopped' },
    { row: 'B', kind: 'step', atMs: 600, text: 'takes it' },
    { row: 'A', kind: 'harm', atMs: 700, text: 'goes on' },
  ],
  endMs: 1_000,
}

describe('more than one at once', () => {
  test('is found in the spans', () => {
    expect(overlaps(STORY.spans)).toEqual([{ fromMs: 600, toMs: 900, count: 2 }])
    expect(holdersAtOnce(STORY.spans)).toBe(2)
  })

  test('is not where one ends as the next begins, nor where one row holds twice, nor where nobody holds', () => {
    expect(overlaps([hold('A', 0, 5), hold('B', 5, 9)])).toEqual([])
    expect(holdersAtOnce([hold('A', 0, 5), hold('A', 3, 9)])).toBe(1)
    expect(holdersAtOnce([])).toBe(0)
    expect(holdersAtOnce([hold('A', 0, 9), hold('B', 1, 8), hold('C', 2, 3)])).toBe(3)
  })
})

describe('the drawing in a terminal', () => {
  test('has a row for each client, a column for each moment, and the moments below', () => {
    expect(draw(STORY, 60)).toEqual([
      '         1       2       3       4',
      'A        ████████!░░░░░░░░░░░░░░░✗████',
      'B                ········████████████████',
      'at once                  ▲▲▲▲▲▲▲▲▲▲▲▲▲',
      '',
      ' 1      0 ms   A  takes it',
      ' 2    100 ms ! A  stopped',
      ' 3    600 ms   B  takes it',
      ' 4    700 ms ✗ A  goes on',
    ])
  })

  test('goes by time where there are more moments than columns, and tells faults and harm in any case', () => {
    const moments = Array.from({ length: 200 }, (_, i) => ({
      row: 'A',
      kind: i === 150 ? ('harm' as const) : ('step' as const),
      atMs: i * 5,
      text: `moment ${i}`,
    }))
    const lines = draw({ ...STORY, moments }, 60)
    expect(lines[0]).toMatch(/^A /)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(60)
    expect(lines.filter((line) => line.includes('moment')).length).toBe(30)
    expect(lines.join('\n')).toContain('moment 150')
    expect(lines.at(-1)).toBe('   and 170 more')
  })

  test('leaves rows out, and says so', () => {
    const rows = Array.from({ length: 51 }, (_, i) => `client ${i}`)
    expect(draw({ ...STORY, rows }, 80).join('\n')).toContain('and 37 more rows')
  })

  test('lets no control character of a server through', () => {
    const moments = [{ row: 'A', kind: 'step' as const, atMs: 0, text: 'said \u001b[2J' }]
    expect(draw({ ...STORY, moments }, 60).join('\n')).not.toContain('\u001b')
  })

  test('of nothing is no error', () => {
    expect(draw({ rows: [], spans: [], moments: [], endMs: 0 }, 60)).toEqual(['', ''])
  })
})

describe('the page', () => {
  test('is drawn from the same, escaped, and needs no other file', () => {
    const play = new Play('<b>one</b>', 'recipe', 'harm')
    play.step('A', 'GET <lock> → "A"')
    const ends = [play.hold('A'), play.hold('B')]
    play.harm('B', 'holds too')
    for (const end of ends) end()
    const act = play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 } })
    expect(act.result).toBe('harm')
    expect(svg(act.timeline).match(/class="hold"/g)?.length).toBe(2)
    expect(svg(act.timeline)).toContain('2 hold at once')
    const exhibit = {
      name: 'x',
      title: 't',
      recipe: 'r',
      source: 's',
      lesson: 'l',
      servers: [],
      kind: 'deterministic' as const,
      run: () => Promise.resolve([]),
    }
    const html = htmlReport([{ exhibit, acts: [act], versions: 'none', ms: 1, shown: true }])
    expect(html).toContain('&#60;b&#62;one')
    expect(html).not.toMatch(/<b>one|(?:src|href)=/)
  })
})

describe('a picture', () => {
  const exhibit = { name: 'x' } as Exhibit
  const act = { title: 'a <schedule>', by: 'recipe', claim: 'harm', result: 'harm' } as const
  const report = (timeline: Timeline) => ({
    exhibit,
    acts: [{ ...act, harm: { name: 'holders at once', value: 2, fine: 1 }, timeline }],
    versions: 'redis 7',
    ms: 1,
    shown: true,
  })

  test('has the drawing, what happened, what came of it, and the command', () => {
    const text = picture(report(STORY), 0)
    expect(text.match(/<rect class="hold"/g)).toHaveLength(2)
    expect(text).toContain('<title>2 hold at once</title>')
    expect(text).toContain('A: goes on')
    expect(text).toContain('>→ HARM<')
    expect(text).toContain('>holders at once: 2<')
    expect(text).toContain('>holdfast lab x · redis 7<')
    expect(text).toContain('the recipe: a &#60;schedule&#62;')
  })

  test('has its own paper and its own colours, for a light page and for a dark one, and needs no other file', () => {
    const text = picture(report(STORY), 0)
    expect(text).toContain('class="paper"')
    expect(text).toContain('@media (prefers-color-scheme: dark)')
    const [light = '', dark = ''] = text.split('@media (prefers-color-scheme: dark)')
    const colours = (part: string): string[] => [...part.matchAll(/(--[a-z]+): #/g)].map((match) => match[1] as string)
    expect(colours(light).length).toBeGreaterThan(8)
    expect(colours(dark)).toEqual(colours(light))
    expect(text).not.toMatch(/(?:src|href)=|url\(/)
  })

  test('wraps long lines, leaves the middle of a long story to the drawing, and lets no control character in', () => {
    const moments = Array.from({ length: 32 }, (_, i) => ({
      row: 'A',
      kind: 'step' as const,
      atMs: i,
      text: `moment ${i} ${'of a long story '.repeat(i === 3 ? 12 : 0)}\u001b`,
    }))
    const text = picture(report({ ...STORY, moments }), 0)
    expect(text).toContain('⋮ 18 more, as drawn')
    expect(text).toContain('moment 31')
    expect(text).not.toContain('>A: moment 20')
    expect(text).not.toContain('\u001b')
    const lines = [...text.matchAll(/<text class="step"[^>]*>([^<]*)</g)].map((match) => match[1] as string)
    expect(lines).toHaveLength(16)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120)
  })
})

describe('what did not come out as said', () => {
  test('is told at the act and at the end', () => {
    const play = new Play('a schedule', 'holdfast', 'caught')
    play.step('A', 'works')
    const act = play.end({ harm: { name: 'oversold by', value: 2 } })
    expect(act.result).toBe('exposed')
    expect(actText(act, 0, 80)).toMatch(
      /→ EXPOSED[^\n]*\n {4}oversold by: 2\n {2}✗ NOT AS SAID: this was to end with: CAUGHT/,
    )
    const exhibit = { name: 'x', lesson: 'l' } as Exhibit
    expect(endText({ exhibit, acts: [act], versions: 'none', ms: 1, shown: false })).toContain('x: NOT SHOWN')
  })
})

describe('the result', () => {
  test('comes from the figures and from nothing else', () => {
    const harm = (value: number, fine = 0) => ({ name: 'x', value, fine })
    expect(resultOf('recipe', { harm: harm(1) })).toBe('harm')
    expect(resultOf('remedy', { harm: harm(0) })).toBe('no harm')
    expect(resultOf('recipe', { harm: harm(2, 1) })).toBe('harm')
    expect(resultOf('holdfast', { harm: harm(1, 1) })).toBe('impossible')
    expect(resultOf('holdfast', { harm: harm(0), caught: 2 })).toBe('caught')
    expect(resultOf('holdfast', { harm: harm(1), caught: 2 })).toBe('exposed')
  })
})
