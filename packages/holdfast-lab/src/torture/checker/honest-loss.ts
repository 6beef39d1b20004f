/**
 * Honest loss: no guarded step begins after the holder's own deadline, nor after a standstill longer than the lease.
 */
import type { EffectEvent } from '../history/event.ts'
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import type { Hold, Standstill, Trial } from './trial.ts'

export const honestLoss: Checker = (trial) => {
  const found = none()
  const leaseUs = trial.run.ttlMs * 1_000
  const long = new Map<string, readonly Standstill[]>()
  for (const [p, list] of trial.standstills) {
    long.set(
      p,
      list.filter(({ from, to }) => to - from > leaseUs).toSorted((a, b) => a.to - b.to),
    )
  }
  for (const { spec, effects } of trial.lines.values()) {
    for (const effect of effects) {
      const hold = trial.holdOf(effect.p, effect.i)
      if (hold === undefined) continue
      const why = reason(trial, effect, hold, long.get(effect.p) ?? [])
      if (why === null) continue
      found.violations.push({
        rule: 'honest-loss',
        line: spec.name,
        at: effect.begun,
        message: why,
        processes: [effect.p],
      })
    }
  }
  return found
}

function reason(trial: Trial, effect: EffectEvent, hold: Hold, stops: readonly Standstill[]): string | null {
  if (effect.until !== undefined && effect.begun >= effect.until) {
    return (
      `${effect.p} began to ${effect.what} ${((effect.begun - effect.until) / 1_000).toFixed(1)} ms after its own ` +
      `deadline`
    )
  }
  // The last long standstill before the step; if the hold is older than that, its lease ran out in there unrenewed.
  const last = stops[before(stops, effect.begun) - 1]
  if (last === undefined || last.from <= hold.granted) return null
  const stoodMs = ((last.to - last.from) / 1_000).toFixed(0)
  return (
    `${effect.p} began to ${effect.what} after standing still for ${stoodMs} ms, with a lease of ` +
    `${trial.run.ttlMs} ms`
  )
}

/** How many of these ended by then. */
function before(stops: readonly Standstill[], t: number): number {
  let low = 0
  let high = stops.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((stops[middle] as Standstill).to <= t) low = middle + 1
    else high = middle
  }
  return low
}
