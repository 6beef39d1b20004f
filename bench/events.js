/**
 * What events cost: pairs of acquire and release on the memory store, with nobody who listens, with a listener on every
 * channel, with the metrics of holdfast/prometheus, and with those of holdfast/otel over the SDK of OpenTelemetry.
 * Processor time, which holds still beside other work. `node bench/events.js`, after a build.
 */
import { execFileSync } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { holdfast } from 'holdfast'
import { instrumentHoldfast } from 'holdfast/otel'
import { prometheusMetrics } from 'holdfast/prometheus'

const PAIRS = 20_000
const ROUNDS = 25
const WARM = 10
const PROCESSES = 5
const AT_ONCE = 256
const CHANNELS = ['requested', 'waiting', 'acquired', 'refused', 'timed-out', 'aborted', 'failed', 'lost', 'released']

const hf = await holdfast('memory:')
const locks = Array.from({ length: AT_ONCE }, (_, i) => hf.mutex(`lock:${i}`))

/** Microseconds of processor time a pair. */
async function round() {
  const begun = process.cpuUsage()
  await Promise.all(
    locks.map(async (lock) => {
      for (let i = 0; i < PAIRS / AT_ONCE; i++) await (await lock.acquire()).release()
    }),
  )
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / PAIRS
}

/** @type {Record<string, () => Promise<void>>} */
const WAYS = {
  nobody: async () => {},
  'nobody, again': async () => {},
  'a listener on every channel': async () => {
    const listener = () => {}
    for (const name of CHANNELS) channel(`holdfast:${name}`).subscribe(listener)
  },
  'holdfast/prometheus': async () => void prometheusMetrics(),
  'holdfast/otel, metrics': async () => void instrumentHoldfast({ meterProvider: await meterProvider(), spans: false }),
  'holdfast/otel, metrics and spans': async () => {
    const { BasicTracerProvider } = await import('@opentelemetry/sdk-trace-base')
    instrumentHoldfast({ meterProvider: await meterProvider(), tracerProvider: new BasicTracerProvider() })
  },
}

/** With a reader, as an exporter has it: without one the SDK drops what it gets. */
async function meterProvider() {
  const { AggregationTemporality, InMemoryMetricExporter, MeterProvider, PeriodicExportingMetricReader } = await import(
    '@opentelemetry/sdk-metrics'
  )
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 })
  return new MeterProvider({ readers: [reader] })
}

const median = (/** @type {number[]} */ all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0

const [way] = process.argv.slice(2)
if (way !== undefined) {
  await WAYS[way]?.()
  /** @type {number[]} */
  const taken = []
  for (let i = 0; i < WARM + ROUNDS; i++) taken.push(await round())
  console.log(median(taken.slice(WARM)))
  // The reader of the SDK keeps the process alive.
  process.exit(0)
} else {
  /** @type {Record<string, number[]>} */
  const taken = Object.fromEntries(Object.keys(WAYS).map((name) => [name, []]))
  // Each in processes of its own: to subscribe changes the channel for the compiler. By turns: a machine has its moods.
  for (let i = 0; i < PROCESSES; i++) {
    for (const name of Object.keys(WAYS)) {
      taken[name]?.push(Number(execFileSync(process.execPath, [fileURLToPath(import.meta.url), name])))
    }
  }
  const base = median(taken['nobody'] ?? [])
  for (const [name, all] of Object.entries(taken)) {
    const us = median(all)
    console.log(`${name}: ${us.toFixed(2)} µs a pair (${us >= base ? '+' : ''}${(us - base).toFixed(2)})`)
  }
}
await hf.close()
