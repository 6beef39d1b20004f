/** Metrics and spans, as the real SDK of OpenTelemetry gets them. */
import { context, metrics as metricsApi, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { AggregationTemporality, InMemoryMetricExporter, MeterProvider } from '@opentelemetry/sdk-metrics'
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { FaultyDriver } from '../../conformance/faulty.ts'
import { holdfast, StoreError, UsageError } from '../../src/index.ts'
import { INSTRUMENTS } from '../../src/metrics/instruments.ts'
import { instrumentHoldfast, type OtelOptions } from '../../src/metrics/otel.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { playAll } from './scene.ts'

const exporter = new InMemorySpanExporter()
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const stops: (() => void)[] = []

beforeAll(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
})
afterAll(() => {
  context.disable()
  metricsApi.disable()
  trace.disable()
})
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
  exporter.reset()
})

function begin(options: OtelOptions): void {
  stops.push(instrumentHoldfast(options))
}

test('every metric of the list arrives, with its unit and its attributes', async () => {
  const kept = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  begin({ meterProvider, spans: false })
  await playAll('order')
  await reader.forceFlush()
  const arrived = kept.getMetrics().at(-1)?.scopeMetrics[0]?.metrics ?? []
  const names = arrived.map(({ descriptor }) => descriptor.name)
  expect(names.toSorted()).toEqual(
    [
      'holdfast.lock.wait.duration',
      'holdfast.lock.hold.duration',
      'holdfast.lock.held',
      'holdfast.lock.waiting',
      'holdfast.lock.lost',
      'holdfast.renewal.duration',
      'holdfast.handovers',
      'holdfast.election.leader',
      'holdfast.fence.refused',
    ].toSorted(),
  )
  expect(names.length).toBe(Object.keys(INSTRUMENTS).length)
  const of = (name: string): { attributes: object; value: unknown }[] =>
    (arrived.find(({ descriptor }) => descriptor.name === name)?.dataPoints ?? []) as never
  const units = arrived.filter(({ descriptor }) => descriptor.unit === 's').map(({ descriptor }) => descriptor.name)
  expect(units.every((name) => name.endsWith('.duration'))).toBe(true)
  expect(units.length).toBe(3)
  expect(of('holdfast.lock.wait.duration')).toContainEqual(
    expect.objectContaining({
      attributes: { lock: 'order:*', store: 'memory', outcome: 'acquired' },
      value: expect.objectContaining({ count: 6 }) as unknown,
    }),
  )
  expect(of('holdfast.lock.hold.duration').map(({ attributes }) => attributes)).toContainEqual({
    lock: 'order:*',
    store: 'memory',
    end: 'lost',
  })
  expect(of('holdfast.lock.lost')).toMatchObject([{ attributes: { reason: 'gone' }, value: 1 }])
  for (const gauge of ['holdfast.lock.held', 'holdfast.lock.waiting', 'holdfast.election.leader']) {
    for (const point of of(gauge)) expect(point.value, gauge).toBe(0)
  }
  await meterProvider.shutdown()
})

test('holds and terms from before the measuring began make no gauge negative', async () => {
  await using hf = await holdfast(memory())
  const held = await hf.mutex('m').acquire()
  const election = hf.election('e')
  await election.campaign()
  const kept = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: kept, exportIntervalMillis: 3_600_000 })
  const meterProvider = new MeterProvider({ readers: [reader] })
  begin({ meterProvider, spans: false })
  await held.release()
  await election.resign()
  await hf.mutex('m').acquire()
  await reader.forceFlush()
  const arrived = kept.getMetrics().at(-1)?.scopeMetrics[0]?.metrics ?? []
  const points = arrived
    .filter(({ descriptor: { name } }) => name === 'holdfast.lock.held' || name === 'holdfast.election.leader')
    .flatMap(({ dataPoints }) => dataPoints.map(({ attributes, value }) => [attributes['lock'], value]))
  expect(Object.fromEntries(points)).toEqual({ m: 1, e: 0 })
  await meterProvider.shutdown()
})

test('a wait is a span under the span of its caller, and says who blocked it', async () => {
  begin({ tracerProvider, blockedByAfterMs: 1 })
  const driver = memory()
  await using hf = await holdfast(driver, { label: 'kitchen' })
  const held = await hf.mutex('stock:42', { fairness: 'strict' }).acquire()
  const tracer = tracerProvider.getTracer('test')
  const caller = tracer.startSpan('order')
  const waiting = context.with(trace.setSpan(context.active(), caller), () => hf.mutex('stock:42').acquire())
  await new Promise((resolve) => setTimeout(resolve, 40))
  await held.release()
  await (await waiting).release()
  caller.end()
  const [span] = exporter.getFinishedSpans()
  expect(span?.name).toBe('wait for lock stock:*')
  expect(span?.parentSpanContext?.spanId).toBe(caller.spanContext().spanId)
  expect(span?.attributes).toMatchObject({
    'holdfast.lock': 'stock:42',
    'holdfast.store': 'memory',
    'holdfast.outcome': 'acquired',
    'holdfast.where': 'store',
    'holdfast.blocked_by.count': 1,
    'holdfast.blocked_by.pid': process.pid,
    'holdfast.blocked_by.label': 'kitchen',
    'holdfast.blocked_by.token': String(held.token),
  })
  const [seconds = 0, nanos = 0] = span?.duration ?? []
  expect(seconds * 1e3 + nanos / 1e6).toBeGreaterThanOrEqual(39)
})

test('no wait, no span; a wait that fails or runs out of time is an error', async () => {
  begin({ tracerProvider, blockedByAfterMs: Number.POSITIVE_INFINITY })
  let isBroken = false
  const before = (): void => {
    if (isBroken) throw new StoreError('out of memory')
  }
  const hf = await holdfast(new FaultyDriver(memory(), { before }), { ttlMs: 60_000 })
  const held = await hf.mutex('m').acquire()
  await hf.mutex('m').tryAcquire()
  expect(exporter.getFinishedSpans()).toEqual([])
  await hf
    .mutex('m')
    .acquire({ waitMs: 5 })
    .catch((error: unknown) => error)
  const waiting = hf
    .mutex('m')
    .acquire()
    .catch((error: unknown) => error)
  isBroken = true
  await hf.close()
  await waiting
  const spans = exporter.getFinishedSpans()
  expect(spans.map(({ attributes }) => attributes['holdfast.outcome'])).toEqual(['timed-out', 'failed'])
  expect(spans.map(({ status }) => status.code)).toEqual([2, 2])
  expect(spans[1]?.events[0]?.name).toBe('exception')
  expect(held.state).toBe('released')
})

test('whoever stops leaves no span open, and no subscriber', async () => {
  begin({ tracerProvider })
  await using hf = await holdfast(memory())
  const held = await hf.mutex('m').acquire()
  const waiting = hf.mutex('m').acquire()
  for (const stop of stops.splice(0)) stop()
  expect(exporter.getFinishedSpans().map(({ attributes }) => attributes['holdfast.outcome'])).toEqual(['unknown'])
  await held.release()
  await (await waiting).release()
  expect(exporter.getFinishedSpans().length).toBe(1)
  expect(() => instrumentHoldfast({ blockedByAfterMs: -1 })).toThrow(UsageError)
  expect(() => instrumentHoldfast({ span: true } as OtelOptions)).toThrow(UsageError)
})
