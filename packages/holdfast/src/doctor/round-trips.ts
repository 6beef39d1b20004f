/** How far away the store is, and how far apart the clocks are. */
import type { Chart } from './finding.ts'

const TRIPS = 7
const SLOW_MS = 200
const OFFSET_MS = 2_000
const STEP_MS = 250

interface Trip {
  readonly tookMs: number
  /** How far the server's clock is ahead of ours; null: the server tells no time. */
  readonly offsetMs: number | null
}

/** `ask` returns the server's wall clock in ms, or null if the server tells no time. */
export async function checkRoundTrips(chart: Chart, store: string, ask: () => Promise<number | null>): Promise<void> {
  const trips: Trip[] = []
  for (let i = 0; i < TRIPS; i++) {
    const [sentAt, sentWall] = [performance.now(), Date.now()]
    const serverMs = await ask()
    const tookMs = performance.now() - sentAt
    trips.push({ tookMs, offsetMs: serverMs === null ? null : serverMs - (sentWall + tookMs / 2) })
  }
  const median = trips.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)[Math.floor(TRIPS / 2)] ?? 0
  const found = `an answer takes ${median.toFixed(1)} ms (median of ${TRIPS})`
  if (median > SLOW_MS) {
    const why = 'each lock costs at least two answers, and a renewal that takes a third of the lease puts it at risk'
    chart.warning(`${store}.round-trip`, found, why, 'use a server nearer by, or a longer ttlMs')
  } else {
    chart.ok(`${store}.round-trip`, found)
  }
  checkClock(chart, store, trips)
}

function checkClock(chart: Chart, store: string, trips: readonly Trip[]): void {
  const known = trips.filter(({ offsetMs }) => offsetMs !== null) as { tookMs: number; offsetMs: number }[]
  if (known.length === 0) return
  // The shortest trip leaves the least doubt.
  const best = known.toSorted((a, b) => a.tookMs - b.tookMs)[0] as (typeof known)[number]
  const found = `the server's clock is ${(best.offsetMs / 1e3).toFixed(3)} s from ours`
  const stepMs = Math.max(...known.map(({ offsetMs, tookMs }) => Math.abs(offsetMs - best.offsetMs) - tookMs))
  if (stepMs > STEP_MS) {
    const why = 'leases end by the server clock: a step forward ends them early, and two may hold at once'
    chart.danger(
      `${store}.clock`,
      `${found}, and it stepped by ${Math.round(stepMs)} ms meanwhile`,
      why,
      'slew the clock (chrony), never step it',
    )
  } else if (Math.abs(best.offsetMs) > OFFSET_MS) {
    const why = 'leases do not depend on it, but one of the clocks is wrong, and correcting it may step it'
    chart.warning(`${store}.clock`, found, why, 'have all machines keep time by NTP, with slewing')
  } else {
    chart.ok(`${store}.clock`, found)
  }
}
