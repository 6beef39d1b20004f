/** Validity: a run that tested nothing proves nothing. */
import { hitsClient, type Trial } from './trial.ts'

/** A run with fewer grants shows nothing. */
const GRANTS_MIN = 20

export interface Validity {
  /** Why the run is inconclusive; empty when it is not. */
  readonly doubts: readonly string[]
  /** How often each nemesis struck, and how often it met a holder. */
  readonly faults: ReadonlyMap<string, { readonly struck: number; readonly hit: number }>
}

export function validity(trial: Trial): Validity {
  const faults = new Map<string, { struck: number; hit: number }>()
  const starts = trial.faults.filter((fault) => fault.healed).toSorted((a, b) => a.t - b.t)
  const hit = new Set<number>()
  for (const hold of trial.holds) {
    // Every fault that began while this one held: of this process, or of all.
    for (let at = firstAfter(starts, hold.granted); at < starts.length; at++) {
      const fault = starts[at]
      if (fault === undefined || fault.t > Math.max(hold.ended, hold.lostAt ?? 0)) break
      if (!hitsClient(fault.target) || fault.target === hold.p) hit.add(fault.id)
    }
  }
  for (const { nemesis, id } of starts) {
    const count = faults.get(nemesis) ?? { struck: 0, hit: 0 }
    faults.set(nemesis, { struck: count.struck + 1, hit: count.hit + (hit.has(id) ? 1 : 0) })
  }
  const doubts: string[] = []
  if (trial.holds.length < GRANTS_MIN) doubts.push(`only ${trial.holds.length} grants, fewer than ${GRANTS_MIN}`)
  for (const client of idle(trial)) doubts.push(`${client} was never granted anything`)
  if (starts.length === 0) doubts.push('no fault was made')
  else if (hit.size === 0) doubts.push('no fault ever met a holder')
  return { doubts, faults }
}

/** The clients that asked and got nothing, in all of their lives: whatever was done to them met nobody. */
function idle({ visits, holds }: Trial): string[] {
  const nameOf = (p: string): string => p.split('.')[0] ?? p
  const served = new Set(holds.map(({ p }) => nameOf(p)))
  return [...new Set(visits.map(({ ask }) => nameOf(ask.p)))].filter((name) => !served.has(name)).toSorted()
}

function firstAfter(starts: readonly { readonly t: number }[], t: number): number {
  let low = 0
  let high = starts.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle]?.t ?? 0) < t) low = middle + 1
    else high = middle
  }
  return low
}
