/** Wake-ups per release: whoever lets go wakes the next, not everybody who waits. */
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import { hitsClient, type Hold, type LineTrial, type Standstill, type Trial } from './trial.ts'

/** A release is looked at when so many other processes wait: only there a herd can be told from the next in line. */
const CROWD = 3
/**
 * One for the next; a wake-up may be doubled or false, so that a single release shows nothing, and few of them little.
 */
const PER_RELEASE_MAX = 2
const RELEASES_MIN = 10

export interface WakeUps {
  /** Releases of mutexes in front of a crowd, with the servers and their network in order. */
  readonly releases: number
  readonly wakes: number
}

export const wakeUps: Checker = (trial) => {
  const found = none()
  if (!trial.run.fair) return found
  for (const line of trial.lines.values()) {
    const { releases, wakes } = count(trial, line)
    if (releases < RELEASES_MIN || wakes <= PER_RELEASE_MAX * releases) continue
    found.violations.push({
      rule: 'wake-ups',
      line: line.spec.name,
      at: trial.end,
      message: `${wakes} waiters were woken by ${releases} releases, of which each could serve one`,
      processes: [],
    })
  }
  return found
}

/** Of all mutexes together. */
export function countWakeUps(trial: Trial): WakeUps {
  let releases = 0
  let wakes = 0
  for (const line of trial.lines.values()) {
    const counted = count(trial, line)
    releases += counted.releases
    wakes += counted.wakes
  }
  return { releases, wakes }
}

/**
 * A wake-up belongs to the last release before it. Two cursors over things in the order of time: linear, save the few
 * who wait.
 */
function count(trial: Trial, { spec, holds, woken }: LineTrial): WakeUps {
  if (spec.kind !== 'mutex' || woken.length === 0) return { releases: 0, wakes: 0 }
  const releases = holds
    .filter(({ released, releasedAt }) => released === 'ok' && releasedAt !== null)
    .toSorted((a, b) => (a.releasedAt ?? 0) - (b.releasedAt ?? 0))
  const asks = trial.visits
    .filter(({ ask }) => ask.line === spec.name && ask.waitMs > 0)
    .toSorted((a, b) => a.ask.t - b.ask.t)
  const disturbances = disturbed(trial)
  const wakes = woken.toSorted((a, b) => a - b)
  let counted = 0
  let heard = 0
  let asked = 0
  let woke = 0
  let over = 0
  let waiting: typeof asks = []
  for (const [at, hold] of releases.entries()) {
    const now = hold.releasedAt ?? 0
    const next = releases[at + 1]?.releasedAt ?? trial.end
    for (; asked < asks.length && (asks[asked]?.ask.t ?? 0) <= now; asked++)
      waiting.push(asks[asked] as (typeof asks)[0])
    waiting = waiting.filter((visit) => (visit.answeredAt ?? trial.deaths.get(visit.ask.p) ?? trial.end) > now)
    while (woke < wakes.length && (wakes[woke] ?? 0) < now) woke += 1
    const from = woke
    while (woke < wakes.length && (wakes[woke] ?? 0) < next) woke += 1
    while (over < disturbances.length && (disturbances[over]?.to ?? 0) < now) over += 1
    if (crowd(waiting, hold) < CROWD || (disturbances[over]?.from ?? Number.POSITIVE_INFINITY) <= next) continue
    counted += 1
    heard += woke - from
  }
  return { releases: counted, wakes: heard }
}

function crowd(waiting: readonly { readonly ask: { readonly p: string } }[], hold: Hold): number {
  const processes = new Set(waiting.map(({ ask }) => ask.p))
  processes.delete(hold.p)
  return processes.size
}

/**
 * When servers or the ways to them were out of order, and a lease after. Who comes back looks where it stands: that is
 * no herd.
 */
function disturbed({ faults, run }: Trial): Standstill[] {
  const spans = faults
    .filter(({ target }) => !hitsClient(target))
    .map(({ t, over }) => ({ from: t, to: over + run.ttlMs * 1_000 }))
    .toSorted((a, b) => a.from - b.from)
  const apart: Standstill[] = []
  for (const span of spans) {
    const last = apart.at(-1)
    if (last === undefined || last.to < span.from) apart.push(span)
    else apart[apart.length - 1] = { from: last.from, to: Math.max(last.to, span.to) }
  }
  return apart
}
