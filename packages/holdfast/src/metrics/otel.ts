/** `holdfast/otel`: metrics and traces of this process by OpenTelemetry. */
import {
  type Attributes,
  type Histogram,
  metrics,
  type Meter,
  type MeterProvider,
  type ObservableResult,
  trace,
  type TracerProvider,
} from '@opentelemetry/api'
import { checkBoolean, checkKeys, checkSpan } from '../contract/check.ts'
import { GROUP_KEYS, type GroupOptions, Groups } from './groups.ts'
import { BUCKETS_S, INSTRUMENTS, type Instrument, type InstrumentKey } from './instruments.ts'
import { type Labels, measure, type Recorder, type Sink } from './measure.ts'
import { traceWaits } from './wait-spans.ts'

export type { GroupOptions } from './groups.ts'

/** Options of `instrumentHoldfast`. */
export interface OtelOptions extends GroupOptions {
  /** Keeps the metrics. Default: the global one. */
  readonly meterProvider?: MeterProvider
  /** Keeps the spans. Default: the global one. */
  readonly tracerProvider?: TracerProvider
  /** Whether each wait becomes a span. Default true. */
  readonly spans?: boolean
  /**
   * After a wait of this length, asks the store once who holds the lock, and writes the answer into the span. Default
   * 50; Infinity never asks.
   */
  readonly blockedByAfterMs?: number
}

const KEYS = [...GROUP_KEYS, 'meterProvider', 'tracerProvider', 'spans', 'blockedByAfterMs']
const SCOPE = 'holdfast'
const BLOCKED_BY_AFTER_MS = 50

/** Measures and traces all Holdfast instances of this process from now on. Call the result to stop. */
export function instrumentHoldfast(options: OtelOptions = {}): () => void {
  const given = checkKeys('instrumentation options', options, KEYS) as OtelOptions
  const afterMs = given.blockedByAfterMs ?? BLOCKED_BY_AFTER_MS
  checkSpan('blockedByAfterMs', afterMs)
  const hasSpans = checkBoolean('spans', given.spans ?? true)
  const groups = new Groups(given)
  const sink = new MeterSink((given.meterProvider ?? metrics).getMeter(SCOPE))
  const stops = [measure(sink, groups), () => sink.stop()]
  if (hasSpans) stops.push(traceWaits((given.tracerProvider ?? trace).getTracer(SCOPE), groups, afterMs))
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}

/** A series that is summed here. The SDK reads it when it exports. */
interface Sum {
  readonly attributes: Attributes
  value: number
}

/**
 * Sums counters and gauges here, and the SDK reads the sums. To tell the SDK each step would cost more than the lock
 * itself, because the SDK finds the series by hashing its attributes each time. The SDK can't read a histogram this
 * way.
 */
class MeterSink implements Sink {
  readonly #meter: Meter
  readonly #histograms = new Map<InstrumentKey, Histogram>()
  readonly #sums = new Map<InstrumentKey, Sum[]>()
  readonly #stops: (() => void)[] = []

  constructor(meter: Meter) {
    this.#meter = meter
    for (const [key, instrument] of Object.entries(INSTRUMENTS) as [InstrumentKey, Instrument][]) {
      if (instrument.kind === 'histogram') this.#addHistogram(key, instrument)
      else this.#addSum(key, instrument)
    }
  }

  series(key: InstrumentKey, labels: Labels): Recorder {
    const histogram = this.#histograms.get(key)
    if (histogram !== undefined) return (value) => histogram.record(value, labels)
    const sums = this.#sums.get(key) as Sum[]
    const same = sums.find(({ attributes }) => Object.keys(labels).every((name) => attributes[name] === labels[name]))
    const sum: Sum = same ?? { attributes: labels, value: 0 }
    if (same === undefined) sums.push(sum)
    // A hold from before the measuring began also ends; the gauge must not go below zero for that.
    return (value) => {
      sum.value = Math.max(0, sum.value + value)
    }
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop()
  }

  #addHistogram(key: InstrumentKey, { name, unit, help: description }: Instrument): void {
    const advice = { explicitBucketBoundaries: [...BUCKETS_S] }
    this.#histograms.set(key, this.#meter.createHistogram(name, { description, unit, advice }))
  }

  #addSum(key: InstrumentKey, { name, kind, help: description }: Instrument): void {
    const sums: Sum[] = []
    this.#sums.set(key, sums)
    const counter =
      kind === 'counter'
        ? this.#meter.createObservableCounter(name, { description })
        : this.#meter.createObservableUpDownCounter(name, { description })
    const observe = (result: ObservableResult): void => {
      for (const { value, attributes } of sums) result.observe(value, attributes)
    }
    counter.addCallback(observe)
    this.#stops.push(() => counter.removeCallback(observe))
  }
}
