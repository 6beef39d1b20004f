/** What a scrape reads, and that the dashboard asks for nothing else. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { holdfast, UsageError } from '../../src/index.ts'
import { INSTRUMENTS } from '../../src/metrics/instruments.ts'
import { type PrometheusMetrics, type PrometheusOptions, prometheusMetrics } from '../../src/metrics/prometheus.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { playAll } from './scene.ts'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

const open: PrometheusMetrics[] = []
afterEach(() => {
  for (const metrics of open.splice(0)) metrics.stop()
})

function begin(options?: PrometheusOptions): PrometheusMetrics {
  const metrics = prometheusMetrics(options)
  open.push(metrics)
  return metrics
}

const LINE = /^([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\\\|\\"|\\n)*",?)*)\} (\d+(?:\.\d+)?(?:e-?\d+)?)$/

function samples(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const match = LINE.exec(line)
    expect(match, line).not.toBeNull()
    const [, name = '', labels = '', value] = match ?? []
    const pairs = [...labels.matchAll(/([a-z]+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = '', text_ = '']) => [
      key,
      text_.replace(/\\(.)/g, (_, char: string) => (char === 'n' ? '\n' : char)),
    ])
    return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }
  })
}

function sumOf(all: readonly Sample[], name: string, labels: Record<string, string> = {}): number {
  const isAsked = (sample: Sample): boolean =>
    sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value)
  return all.filter(isAsked).reduce((sum, { value }) => sum + value, 0)
}

test('everything is measured, in seconds and by groups, and what has ended is no longer counted', async () => {
  const metrics = begin()
  await playAll('order')
  const text = metrics.text()
  const all = samples(text)
  const wait = 'holdfast_lock_wait_duration_seconds_count'
  expect(sumOf(all, wait, { lock: 'order:*', store: 'memory', outcome: 'refused' })).toBe(1)
  expect(sumOf(all, wait, { lock: 'order:*', outcome: 'timed-out' })).toBe(1)
  expect(sumOf(all, wait, { lock: 'order:*', outcome: 'acquired' })).toBe(6)
  expect(sumOf(all, 'holdfast_lock_hold_duration_seconds_count', { end: 'released' })).toBe(6)
  expect(sumOf(all, 'holdfast_lock_hold_duration_seconds_count', { end: 'lost' })).toBe(1)
  expect(sumOf(all, 'holdfast_lock_lost_total', { lock: 'order:*', reason: 'gone' })).toBe(1)
  expect(sumOf(all, 'holdfast_handovers_total', { where: 'process' })).toBe(1)
  expect(sumOf(all, 'holdfast_handovers_total', { where: 'store' })).toBe(1)
  expect(sumOf(all, 'holdfast_fence_refused_total', { lock: 'order:*' })).toBe(1)
  expect(sumOf(all, 'holdfast_renewal_duration_seconds_count', { outcome: 'renewed' })).toBeGreaterThan(0)
  for (const gauge of ['held', 'waiting']) expect(sumOf(all, `holdfast_lock_${gauge}`)).toBe(0)
  expect(sumOf(all, 'holdfast_election_leader', { lock: 'order:leader' })).toBe(0)
  // It waited 5 ms, and not 5 s.
  const waited = sumOf(all, 'holdfast_lock_wait_duration_seconds_sum', { outcome: 'timed-out' })
  expect(waited).toBeGreaterThanOrEqual(0.004)
  expect(waited).toBeLessThan(4)
  for (const { kind } of Object.values(INSTRUMENTS)) expect(text).toContain(` ${kind}\n`)
  expect(text.match(/^# TYPE /gm)?.length).toBe(Object.keys(INSTRUMENTS).length)
  expect(text.match(/^# HELP /gm)?.length).toBe(Object.keys(INSTRUMENTS).length)
})

test('the gauges say what is held, waited for and led now', async () => {
  const metrics = begin()
  await using hf = await holdfast(memory())
  const held = await hf.mutex('m').acquire()
  const waiting = hf.mutex('m').acquire()
  await hf.election('e').campaign()
  const now = samples(metrics.text())
  expect(sumOf(now, 'holdfast_lock_held', { lock: 'm' })).toBe(1)
  expect(sumOf(now, 'holdfast_lock_waiting', { lock: 'm' })).toBe(1)
  expect(sumOf(now, 'holdfast_election_leader', { lock: 'e' })).toBe(1)
  await held.release()
  await (await waiting).release()
})

test('buckets add up, and the last one has all', async () => {
  const metrics = begin()
  await playAll('b')
  const all = samples(metrics.text())
  const buckets = all.filter(
    ({ name, labels }) =>
      name.endsWith('wait_duration_seconds_bucket') && labels['outcome'] === 'acquired' && labels['lock'] === 'b:*',
  )
  const values = buckets.map(({ value }) => value)
  expect(values).toEqual(values.toSorted((a, b) => a - b))
  expect(buckets.at(-1)?.labels['le']).toBe('+Inf')
  expect(values.at(-1)).toBe(
    sumOf(all, 'holdfast_lock_wait_duration_seconds_count', { outcome: 'acquired', lock: 'b:*' }),
  )
})

test('names of any kind are labels of one line', async () => {
  const metrics = begin({ groupOf: (name) => name })
  await using hf = await holdfast(memory())
  for (const name of ['say "hi"', 'back\\slash', 'two\nlines']) {
    await hf.mutex(name).using(() => undefined)
    expect(sumOf(samples(metrics.text()), 'holdfast_lock_hold_duration_seconds_count', { lock: name })).toBe(1)
  }
  await hf.mutex('nul\u0000').using(() => undefined)
  expect(metrics.text()).not.toContain('\u0000')
})

test('no line comes twice, also of groups that are written alike', async () => {
  const metrics = begin({ groupOf: (name) => name })
  await using hf = await holdfast(memory())
  // A NUL can't be written, and the cut after 128 goes through the middle of a letter.
  const names = ['a\u0000', 'a\uFFFD', `${'x'.repeat(127)}\u{1F512}`, `${'x'.repeat(127)}\u{1F9E8}`]
  for (const name of names) await hf.mutex(name).using(() => undefined)
  const sent = Buffer.from(metrics.text()).toString()
  const series = sent.split('\n').map((line) => line.slice(0, line.lastIndexOf(' ')))
  expect(series.filter((line, i) => !line.startsWith('#') && line !== '' && series.indexOf(line) !== i)).toEqual([])
  expect(sumOf(samples(sent), 'holdfast_lock_hold_duration_seconds_count', { lock: 'a\uFFFD' })).toBe(2)
})

test('a thousand groups make no more than the groups that are allowed', async () => {
  const metrics = begin({ groupOf: (name) => name, groupsMax: 10 })
  await using hf = await holdfast(memory())
  for (let i = 0; i < 1_000; i++) await hf.mutex(`lock-${i}`).using(() => undefined)
  const held = samples(metrics.text()).filter(({ name }) => name === 'holdfast_lock_held')
  expect(held.length).toBe(11)
  const counted = sumOf(samples(metrics.text()), 'holdfast_lock_hold_duration_seconds_count')
  expect(counted).toBe(1_000)
  expect(sumOf(samples(metrics.text()), 'holdfast_lock_hold_duration_seconds_count', { lock: 'other' })).toBe(990)
})

test.each([
  ['order:4711:item:9', 'order:*:item:*'],
  ['user/7f1b6f0e-3c1d-4b57-9f0a-2b6f6a0c1d2e/cart', 'user/*/cart'],
  ['blob-9f86d081884c7d659a2feaa0c55ad015', 'blob-*'],
  ['deadbeef-cafe', 'deadbeef-cafe'],
  ['nightly', 'nightly'],
])('%s is measured as %s', async (name, group) => {
  const metrics = begin()
  await using hf = await holdfast(memory())
  await hf.mutex(name).using(() => undefined)
  expect(sumOf(samples(metrics.text()), 'holdfast_lock_hold_duration_seconds_count', { lock: group })).toBe(1)
})

test('a group that throws is measured as other, and the lock is had all the same', async () => {
  const metrics = begin({
    groupOf: () => {
      throw new Error('no group')
    },
  })
  await using hf = await holdfast(memory())
  expect(await hf.mutex('m').using(() => 7)).toBe(7)
  expect(sumOf(samples(metrics.text()), 'holdfast_lock_hold_duration_seconds_count', { lock: 'other' })).toBe(1)
})

test('bad options are refused; a handler answers scrapes; after stop nothing is measured', async () => {
  expect(() => prometheusMetrics({ groupsMax: 0 })).toThrow(UsageError)
  expect(() => prometheusMetrics({ groups: 3 } as PrometheusOptions)).toThrow(UsageError)
  const metrics = begin()
  const server = createServer(metrics.handler).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  try {
    await using hf = await holdfast(memory())
    await hf.mutex('m').using(() => undefined)
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`)
    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await answer.text()).toBe(metrics.text())
    const before = metrics.text()
    metrics.stop()
    await hf.mutex('m').using(() => undefined)
    expect(metrics.text()).toBe(before)
  } finally {
    server.close()
  }
})

test('the dashboard asks for metrics and labels that are there', async () => {
  const metrics = begin()
  await playAll('d')
  const all = samples(metrics.text())
  const file = readFileSync(new URL('../../../../docs/grafana/holdfast.json', import.meta.url), 'utf8')
  const { panels } = JSON.parse(file) as { panels: { title: string; targets: { expr: string }[] }[] }
  const exprs = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
  expect(exprs.length).toBe(10)
  const used = new Set<string>()
  for (const expr of exprs) {
    for (const [, name = '', selector = ''] of expr.matchAll(/(holdfast_[a-z_]+)(?:\{([^}]*)\})?/g)) {
      used.add(name.replace(/_(bucket|count|sum)$/, ''))
      const series = all.filter((sample) => sample.name === name)
      expect(series, expr).not.toEqual([])
      const fixed = [...selector.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value])
      expect(sumOf(all, name, Object.fromEntries(fixed) as Record<string, string>), expr).toBeGreaterThanOrEqual(0)
      const by = /by \(([^)]*)\)/.exec(expr)?.[1]?.split(', ') ?? []
      for (const label of by) expect(Object.keys(series[0]?.labels ?? {}), expr).toContain(label)
    }
  }
  // Every metric is shown somewhere.
  expect(used.size).toBe(Object.keys(INSTRUMENTS).length)
})
