/**
 * What events cost: pairs of acquire and release on the memory store, with nobody who listens, with a listener on every
 * channel, and with the metrics of holdfast/prometheus. `node bench/events.js`, after a build.
 */
import { execFileSync } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { fileURLToPath } from 'node:url'
import { holdfast } from 'holdfast'
import { prometheusMetrics } from 'holdfast/prometheus'

const PAIRS = 20_000
const ROUNDS = 25
const WARM = 10
const PROCESSES = 5
const AT_ONCE = 256
const CHANNELS = ['requested', 'waiting', 'acquired', 'refused', 'timed-out', 'aborted', 'failed', 'lost', 'released']

const hf = await holdfast('memory:')
const locks = Array.from({ length: AT_ONCE }, (_, i) => hf.mutex(`lock:${i}`))

/** Microseconds a pair. */
async function round() {
  const begunAt = performance.now()
  await Promise.all(
    locks.map(async (lock) => {
      for (let i = 0; i < PAIRS / AT_ONCE; i++) await (await lock.acquire()).release()
    }),
  )
  return ((performance.now() - begunAt) * 1e3) / PAIRS
}

/** @type {Record<string, () => () => void>} */
const WAYS = {
  nobody: () => () => {},
  'nobody, again': () => () => {},
  'a listener on every channel': () => {
    const listener = () => {}
    for (const name of CHANNELS) channel(`holdfast:${name}`).subscribe(listener)
    return () => {
      for (const name of CHANNELS) channel(`holdfast:${name}`).unsubscribe(listener)
    }
  },
  'holdfast/prometheus': () => prometheusMetrics().stop,
}

const median = (/** @type {number[]} */ all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0

const [way] = process.argv.slice(2)
if (way !== undefined) {
  WAYS[way]?.()
  /** @type {number[]} */
  const taken = []
  for (let i = 0; i < WARM + ROUNDS; i++) taken.push(await round())
  console.log(median(taken.slice(WARM)))
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
