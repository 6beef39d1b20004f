/** `holdfast/prometheus`: the metrics of this process as text that Prometheus reads. No dependency. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkKeys } from '../contract/check.ts'
import { GROUP_KEYS, type GroupOptions, Groups } from './groups.ts'
import { BUCKETS_S, INSTRUMENTS, type Instrument, type InstrumentKey } from './instruments.ts'
import { type Labels, measure, type Recorder } from './measure.ts'

export type { GroupOptions } from './groups.ts'

/** Options of `prometheusMetrics`. */
export type PrometheusOptions = GroupOptions

/** The metrics of this process, for Prometheus. */
export interface PrometheusMetrics {
  /** The content type of the text. */
  readonly contentType: string
  /** All metrics as of now, in Prometheus' text format. */
  text(): string
  /** Answers a scrape: `createServer(metrics.handler)`, or a route of Express or of any framework over node:http. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** Stops measuring. What was measured stays. */
  stop(): void
}

interface Series {
  readonly labels: string
  value: number
  /** For histograms: how many values fell into each bucket; the last bucket is for all larger values. */
  readonly counts: number[] | null
}

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Measures all Holdfast instances of this process from now on. Call it before you take locks, because it does not see
 * locks that are held already.
 */
export function prometheusMetrics(options: PrometheusOptions = {}): PrometheusMetrics {
  const groups = new Groups(checkKeys('metrics options', options, GROUP_KEYS) as GroupOptions)
  const registry = new Registry()
  const stop = measure(registry, groups)
  const handler = (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': CONTENT_TYPE }).end(registry.text())
  }
  return { contentType: CONTENT_TYPE, text: () => registry.text(), handler, stop }
}

class Registry {
  readonly #series = new Map<InstrumentKey, Map<string, Series>>()

  series(key: InstrumentKey, labels: Labels): Recorder {
    const series = this.#find(key, labels, INSTRUMENTS[key].kind === 'histogram')
    const { counts } = series
    if (counts === null) {
      // A hold from before the measuring began also ends; the gauge must not go below zero for that.
      return (value) => {
        series.value = Math.max(0, series.value + value)
      }
    }
    return (value) => {
      let bucket = 0
      while (bucket < BUCKETS_S.length && value > (BUCKETS_S[bucket] as number)) bucket++
      counts[bucket] = (counts[bucket] as number) + 1
      series.value += value
    }
  }

  text(): string {
    let text = ''
    for (const [key, instrument] of Object.entries(INSTRUMENTS) as [InstrumentKey, Instrument][]) {
      const series = this.#series.get(key)
      if (series === undefined) continue
      const name = nameOf(instrument)
      text += `# HELP ${name} ${instrument.help}\n# TYPE ${name} ${instrument.kind}\n`
      if (instrument.unit === 's') text += `# UNIT ${name} seconds\n`
      for (const one of series.values())
        text += one.counts === null ? line(name, one) : histogram(name, one, one.counts)
    }
    return text
  }

  #find(key: InstrumentKey, labels: Labels, isHistogram: boolean): Series {
    let all = this.#series.get(key)
    if (all === undefined) {
      all = new Map()
      this.#series.set(key, all)
    }
    // As written: a scrape may have each line once, and two groups may be written alike.
    const id = written(labels)
    let series = all.get(id)
    if (series === undefined) {
      const counts = isHistogram ? [...BUCKETS_S.map(() => 0), 0] : null
      series = { labels: id, value: 0, counts }
      all.set(id, series)
    }
    return series
  }
}

function nameOf({ name, kind, unit }: Instrument): string {
  const plain = name.replaceAll('.', '_')
  if (kind === 'counter') return `${plain}_total`
  return unit === 's' ? `${plain}_seconds` : plain
}

function line(name: string, { labels, value }: Series): string {
  return `${name}{${labels}} ${value}\n`
}

function histogram(name: string, { labels, value }: Series, counts: readonly number[]): string {
  let sum = 0
  let text = ''
  for (const [i, count] of counts.entries()) {
    sum += count
    const bound = i < BUCKETS_S.length ? String(BUCKETS_S[i]) : '+Inf'
    text += `${name}_bucket{${labels},le="${bound}"} ${sum}\n`
  }
  return `${text}${name}_sum{${labels}} ${value}\n${name}_count{${labels}} ${sum}\n`
}

function written(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')
}

/** Escaped as the text format wants it. A NUL, or half of a letter where a long group was cut, is shown as \uFFFD. */
function escaped(value: string): string {
  const text = Buffer.from(value).toString().replaceAll('\u0000', '\uFFFD')
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
