/** Beside the list: deadlocks, what went on over time, what was lost, elections, jobs, limiters. */
import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Happening, JobView, Point, Row } from '../src/wire.ts'
import { Chart } from './chart.tsx'
import { Circle, LockLink } from './circle.tsx'
import { Lease } from './lease.tsx'
import { Limits } from './limits.tsx'
import { model, nowMs, useTick } from './model.ts'
import { clock, count, Name, span } from './text.tsx'

const BUCKET_MS = 10_000
/** Shown at once; the others on demand. */
const FIRST_EVENTS = 6
const FIRST_OF_ONE = 20
const EVENTS_MAX = 200

export function Activity({ version }: { readonly version: number }): JSX.Element {
  useTick()
  const { head, events, points } = model
  const elections = useMemo(() => [...model.rows.values()].filter(({ kind }) => kind === 'election'), [version])
  const line = useMemo(() => lineOf(points), [version])
  const bars = useMemo(() => barsOf(points), [version])
  const last = points.at(-1)
  return (
    <aside class="activity" aria-label="Activity">
      {(head?.circles ?? []).map((parts) => (
        <Panel key={parts.map(({ who }) => who).join()} title="Deadlock" tone="bad">
          <Circle parts={parts} />
        </Panel>
      ))}
      <Panel title="Over time">
        <Chart title="Waiting" value={String(last?.waiting ?? 0)} {...line} look="line" colour="warn" />
        <Chart
          title="Hand-overs"
          value={`${bars.perMinute} in the last minute`}
          {...bars.series}
          look="bars"
          colour="accent"
        />
      </Panel>
      <Panel title="Losses, breaks, elections">
        <Events events={events} />
      </Panel>
      {elections.length === 0 ? null : (
        <Panel title={count(elections.length, 'election')}>
          <ul class="list">
            {elections.slice(0, 20).map((row) => (
              <Election key={row.name} row={row} />
            ))}
          </ul>
        </Panel>
      )}
      {(head?.jobs ?? []).length === 0 ? null : (
        <Panel title="Jobs, last runs">
          <ul class="list">
            {head?.jobs.slice(0, 40).map((job) => (
              <Job key={job.name} job={job} />
            ))}
          </ul>
        </Panel>
      )}
      {(head?.limiters ?? []).length === 0 ? null : (
        <Panel title={count(head?.limiters.length ?? 0, 'limited key')}>
          <Limits limiters={head?.limiters ?? []} />
        </Panel>
      )}
    </aside>
  )
}

function Panel(props: {
  readonly title: string
  readonly tone?: 'bad'
  readonly children: ComponentChildren
}): JSX.Element {
  return (
    <section class={props.tone === 'bad' ? 'panel bad' : 'panel'}>
      <h2>{props.title}</h2>
      {props.children}
    </section>
  )
}

const TONES: Readonly<Partial<Record<Happening['kind'], string>>> = {
  'ran out': 'bad',
  lost: 'bad',
  'timed out': 'warn',
  broken: 'bad',
  deadlock: 'bad',
  'store lost': 'bad',
  'store back': 'good',
  elected: 'good',
}

/** The newest first. `isOne`: all are of the same lock, whose name need not be said, and there is room. */
export function Events(props: { readonly events: readonly Happening[]; readonly isOne?: boolean }): JSX.Element {
  const { events, isOne = false } = props
  if (events.length === 0) return <p class="muted small">Nothing since the console has looked.</p>
  const newest = events.toReversed()
  const first = isOne ? FIRST_OF_ONE : FIRST_EVENTS
  const older = newest.slice(first, EVENTS_MAX)
  const item = (event: Happening): JSX.Element => <Event key={event.id} event={event} isOne={isOne} />
  return (
    <>
      <ul class="list events">{newest.slice(0, first).map(item)}</ul>
      {older.length === 0 ? null : (
        <details>
          <summary>{older.length} older</summary>
          <ul class="list events">{older.map(item)}</ul>
        </details>
      )}
    </>
  )
}

function Event({ event, isOne }: { readonly event: Happening; readonly isOne: boolean }): JSX.Element {
  const { atMs, kind, lock, who, note } = event
  return (
    <li>
      <time class="num">{clock(atMs)}</time>
      <span class={`tag ${TONES[kind] ?? ''}`}>{kind}</span>
      <span class="what">
        {lock === '' || isOne ? null : <LockLink lock={lock} />}
        <small class={isOne ? 'only' : ''}>
          {who === '' ? '' : <Name text={who} />}
          {who !== '' && note !== '' ? ' · ' : ''}
          {note === '' ? '' : <Name text={note} />}
        </small>
      </span>
    </li>
  )
}

function Election({ row }: { readonly row: Row }): JSX.Element {
  const [leader] = row.holders
  return (
    <li class="pair">
      <span>
        <LockLink lock={row.name} />
        <small>{count(row.waiting, 'candidate')} waiting</small>
      </span>
      {leader === undefined ? (
        <span class="tag bad">no leader</span>
      ) : (
        <span class="end">
          <Name text={(leader.value ?? '') === '' ? `${leader.host}:${leader.pid}` : (leader.value as string)} />
          <Lease holder={leader} />
        </span>
      )}
    </li>
  )
}

function Job({ job }: { readonly job: JobView }): JSX.Element {
  const { name, startedMs, endedMs, ok, who, runs } = job
  const tone = ok === null ? '' : ok ? 'good' : 'bad'
  return (
    <li class="pair">
      <span>
        <Name text={name} />
        <small>
          {span(nowMs() - startedMs)} ago on <Name text={who} />
        </small>
        {runs.length < 2 ? null : (
          <span class="runs" role="img" aria-label={`the last runs, the oldest first: ${runs.join(', ')}`}>
            {runs.map((end, i) => (
              <i key={i} class={end} title={end} />
            ))}
          </span>
        )}
      </span>
      <span class="end">
        <span class={`tag ${tone}`}>{ok === null ? 'running, or died' : ok ? 'ok' : 'failed'}</span>
        <small>{endedMs === null ? '' : `took ${span(endedMs - startedMs)}`}</small>
      </span>
    </li>
  )
}

function lineOf(points: readonly Point[]): { readonly xs: number[]; readonly ys: number[] } {
  return { xs: points.map(({ atMs }) => atMs / 1_000), ys: points.map(({ waiting }) => waiting) }
}

function barsOf(points: readonly Point[]): {
  readonly series: { readonly xs: number[]; readonly ys: number[] }
  readonly perMinute: number
} {
  const buckets = new Map<number, number>()
  const now = nowMs()
  let perMinute = 0
  for (const { atMs, handovers } of points) {
    const bucket = Math.floor(atMs / BUCKET_MS)
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + handovers)
    if (atMs > now - 60_000) perMinute += handovers
  }
  const xs = [...buckets.keys()].map((bucket) => ((bucket + 0.5) * BUCKET_MS) / 1_000)
  return { series: { xs, ys: [...buckets.values()] }, perMinute }
}
