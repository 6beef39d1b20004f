/** `holdfast/otel`: metrics and traces of this process by OpenTelemetry. */
import {
  type Attributes,
  metrics,
  type Meter,
  type MeterProvider,
  trace,
  type TracerProvider,
} from '@opentelemetry/api'
import { checkBoolean, checkKeys, checkSpan } from '../contract/check.ts'
import { GROUP_KEYS, type GroupOptions, Groups } from './groups.ts'
import { BUCKETS_S, INSTRUMENTS, type Instrument, type InstrumentKey } from './instruments.ts'
import { measure, type Sink } from './measure.ts'
import { traceWaits } from './wait-spans.ts'

export type { GroupOptions } from './groups.ts'

/** How metrics and traces are made. */
export interface OtelOptions extends GroupOptions {
  /** Who keeps the metrics. Default: the global one. */
  readonly meterProvider?: MeterProvider
  /** Who keeps the spans. Default: the global one. */
  readonly tracerProvider?: TracerProvider
  /** Whether each wait becomes a span. Default true. */
  readonly spans?: boolean
  /**
   * A wait that has lasted this long asks the store who holds the lock, once, and its span says so. Default 50;
   * Infinity never asks.
   */
  readonly blockedByAfterMs?: number
}

const KEYS = [...GROUP_KEYS, 'meterProvider', 'tracerProvider', 'spans', 'blockedByAfterMs']
const SCOPE = 'holdfast'
const BLOCKED_BY_AFTER_MS = 50

/** Begins to measure and trace all Holdfast instances of this process. The answer stops it. */
export function instrumentHoldfast(options: OtelOptions = {}): () => void {
  const given = checkKeys('instrumentation options', options, KEYS) as OtelOptions
  const afterMs = given.blockedByAfterMs ?? BLOCKED_BY_AFTER_MS
  checkSpan('blockedByAfterMs', afterMs)
  const hasSpans = checkBoolean('spans', given.spans ?? true)
  const groups = new Groups(given)
  const stops = [measure(meterSink((given.meterProvider ?? metrics).getMeter(SCOPE)), groups)]
  if (hasSpans) stops.push(traceWaits((given.tracerProvider ?? trace).getTracer(SCOPE), groups, afterMs))
  return () => {
    for (const stop of stops.splice(0)) stop()
  }
}

function meterSink(meter: Meter): Sink {
  const made = Object.fromEntries(
    Object.entries(INSTRUMENTS).map(([key, instrument]) => [key, recorder(meter, instrument)]),
  ) as Record<InstrumentKey, (value: number, attributes: Attributes) => void>
  return { record: (instrument, value, labels) => made[instrument](value, labels) }
}

function recorder(meter: Meter, { name, kind, unit, help }: Instrument): (value: number, to: Attributes) => void {
  const description = help
  if (kind === 'histogram') {
    const advice = { explicitBucketBoundaries: [...BUCKETS_S] }
    const histogram = meter.createHistogram(name, { description, unit, advice })
    return (value, to) => histogram.record(value, to)
  }
  const sum =
    kind === 'counter' ? meter.createCounter(name, { description }) : meter.createUpDownCounter(name, { description })
  return (value, to) => sum.add(value, to)
}
