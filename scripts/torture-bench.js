/**
 * `npm run torture:bench`: is the checker linear? Reads and judges made-up histories of growing length. Needs a build.
 */
import { judge } from '../packages/holdfast-lab/dist/src/torture/checker/judge.js'
import { parseHistory } from '../packages/holdfast-lab/dist/src/torture/history/read.js'

const ROUNDS = 3
const LINES = 8

/** So many events: visits in turn, a pause now and then, all as it must be. */
function history(events) {
  const lines = Array.from({ length: LINES }, (_, at) => ({ name: `m${at}`, kind: 'mutex', capacity: 1 }))
  const head = { e: 'run', t: 0, format: 1, seed: 1, store: 'none:', versions: '', ttlMs: 1_000, clients: 6, lines }
  const out = [JSON.stringify({ ...head, fair: true, fenced: true, failoverMs: 0 })]
  for (let i = 0; out.length + 7 <= events; i++) {
    const p = `c${1 + (i % 6)}`
    const line = `m${i % LINES}`
    const t = i * 1_000
    const token = String(9_007_199_254_740_000n + BigInt(i))
    const until = t + 1_000_000
    out.push(
      JSON.stringify({ e: 'acquire', t, p, i, line, weight: 1, exclusive: true, waitMs: 5_000 }),
      JSON.stringify({ e: 'woken', t: t + 50, p, line }),
      JSON.stringify({ e: 'acquired', t: t + 100, p, i, outcome: 'ok', token, until }),
      JSON.stringify({
        e: 'effect',
        t: t + 200,
        p,
        i,
        line,
        what: 'read',
        begun: t + 190,
        token,
        until,
        accepted: true,
      }),
      JSON.stringify({
        e: 'effect',
        t: t + 500,
        p,
        i,
        line,
        what: 'write',
        begun: t + 490,
        token,
        until,
        accepted: true,
      }),
      JSON.stringify({ e: 'release', t: t + 600, p, i, until }),
      JSON.stringify({ e: 'released', t: t + 700, p, i, outcome: 'ok' }),
    )
    if (i % 500 === 0) {
      const id = i / 500
      out.push(
        JSON.stringify({ e: 'fault', t: t + 800, id, nemesis: 'pause-client', target: 'c3', forgets: false }),
        JSON.stringify({ e: 'healed', t: t + 900, id, from: t + 810, to: t + 890, graceMs: 0 }),
      )
    }
  }
  return Buffer.from(`${out.join('\n')}\n`)
}

function bestMs(bytes) {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now()
    const { violations } = judge(parseHistory(bytes))
    if (violations.length > 0) throw new Error(`the made-up history is broken: ${violations[0].message}`)
    best = Math.min(best, performance.now() - start)
  }
  return best
}

const sizes = [100_000, 200_000, 1_000_000]
const times = sizes.map((size) => bestMs(history(size)))
for (const [at, size] of sizes.entries())
  console.log(`${String(size).padStart(9)} lines  ${(times[at] / 1_000).toFixed(2)} s`)
const ratio = times[1] / times[0]
console.log(
  `200 000 lines take ${ratio.toFixed(2)} times as long as 100 000 (at most 3), a million ` +
    `${(times[2] / 1_000).toFixed(2)} s (at most 10)`,
)
if (ratio > 3 || times[2] > 10_000) process.exitCode = 1
