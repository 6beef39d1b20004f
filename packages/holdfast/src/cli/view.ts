/** Shows locks, their holders and waiters on the command line. */
import { CAPACITY_MAX } from '../acquire/spec.ts'
import type { LineView, PlaceView } from '../contract/driver.ts'
import type { JobRun } from '../kit/once/job.ts'
import { formatDuration } from './duration.ts'
import { type Column, table } from './table.ts'

/** One JSON object on one line. Tokens are decimal strings: as numbers they would be rounded above 2^53. */
export function lineJson(line: LineView): string {
  return JSON.stringify({ ...line, holders: line.holders.map(placeObject), waiters: line.waiters.map(placeObject) })
}

function placeObject(place: PlaceView): object {
  const { holds } = place
  if (holds === undefined) return { ...place, token: String(place.token) }
  return { ...place, token: String(place.token), holds: holds.map((held) => ({ ...held, token: String(held.token) })) }
}

export function lineTable(lines: readonly LineView[], styled: boolean): string {
  const columns: Column[] = [
    { title: 'LOCK' },
    { title: 'KIND' },
    { title: 'HOLDERS', align: 'right' },
    { title: 'WAITERS', align: 'right' },
    { title: 'HELD BY' },
    { title: 'FOR', align: 'right' },
  ]
  const rows = lines.map((line) => {
    const [first] = line.holders
    return [
      line.name,
      kind(line.capacity),
      String(line.holders.length),
      String(line.waiters.length),
      heldBy(line) ?? '-',
      first === undefined ? '-' : formatDuration(first.ageMs),
    ]
  })
  return table(columns, rows, styled)
}

export function placeTable(line: LineView, styled: boolean): string {
  const hasValues = [...line.holders, ...line.waiters].some(({ value = '' }) => value !== '')
  const columns: Column[] = [
    { title: '', align: 'right' },
    { title: 'STATE' },
    { title: 'WHO' },
    { title: 'WEIGHT', align: 'right' },
    { title: 'SINCE', align: 'right' },
    { title: 'LEASE LEFT', align: 'right' },
    { title: 'TOKEN', align: 'right' },
    // Only candidates of an election have a value.
    ...(hasValues ? [{ title: 'VALUE' }] : []),
  ]
  const row = (state: string, place: PlaceView): string[] => [
    state,
    who(place),
    weight(place.weight, line.capacity),
    formatDuration(place.ageMs),
    formatDuration(place.leftMs),
    String(place.token),
    ...(hasValues ? [place.value ?? ''] : []),
  ]
  const places = [
    ...line.holders.map((place) => row('holds', place)),
    ...line.waiters.map((place) => row('waits', place)),
  ]
  return table(
    columns,
    places.map((cells, i) => [String(i + 1), ...cells]),
    styled,
  )
}

/** The primitive that makes lines of this capacity. */
export function kind(capacity: number): string {
  if (capacity === 1) return 'mutex'
  return capacity === CAPACITY_MAX ? 'read-write' : `${capacity} permits`
}

function weight(value: number, capacity: number): string {
  if (capacity !== CAPACITY_MAX) return `${value}/${capacity}`
  return value === CAPACITY_MAX ? 'write' : 'read'
}

export function who(place: Pick<PlaceView, 'host' | 'pid' | 'label'>): string {
  const process = `${place.host === '' ? '?' : place.host}:${place.pid === 0 ? '?' : place.pid}`
  return place.label === '' ? process : `${place.label} (${process})`
}

/** The first holder, and how many more there are; null: nobody holds the lock. */
export function heldBy({ holders: [first, ...others] }: LineView): string | null {
  if (first === undefined) return null
  return others.length === 0 ? who(first) : `${who(first)} and ${others.length} more`
}

/** Another program may have written something that is no time. */
export function isoOf(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '?' : date.toISOString()
}

/** The last runs of scheduled jobs. */
export function jobTable(
  jobs: readonly (readonly [name: string, run: JobRun])[],
  nowMs: number,
  styled: boolean,
): string {
  const columns: Column[] = [
    { title: 'JOB' },
    { title: 'LAST RUN' },
    { title: 'AGO', align: 'right' },
    { title: 'TOOK', align: 'right' },
    { title: 'OUTCOME' },
    { title: 'ON' },
  ]
  const rows = jobs.map(([name, run]) => [
    name,
    isoOf(run.startedMs),
    formatDuration(Math.max(0, nowMs - run.startedMs)),
    run.endedMs === null ? '-' : formatDuration(Math.max(0, run.endedMs - run.startedMs)),
    run.ok === null ? 'running, or died' : run.ok ? 'ok' : 'failed',
    `${run.host}:${run.pid}`,
  ])
  return table(columns, rows, styled)
}
