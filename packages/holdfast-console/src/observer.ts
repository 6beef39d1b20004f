/**
 * Looks at the store again and again, and publishes what has changed. Apart from breaks, only this file uses the store.
 */
import type { Holdfast, LineView } from 'holdfast'
import { formatDuration, who } from 'holdfast/internal'
import { changesOf } from './changes.ts'
import { Circles } from './circles.ts'
import { Jobs } from './jobs.ts'
import { Limiters } from './limiters.ts'
import { type Lock, lockOf, rowOf } from './lock.ts'
import type { ConsoleSettings } from './options.ts'
import { Past } from './past.ts'
import { type Reported, Reports } from './reports.ts'
import { Ring } from './ring.ts'
import type { CirclePart, Detail, EventKind, Happening, Head, JobView, LimiterView, Point, Span } from './wire.ts'

const EVENTS_MAX = 500
const POINTS_MAX = 900
/** Lost holds that are remembered, so that each counts once. */
const LOST_MAX = 10_000
/**
 * A look at n locks of one Redis server takes about n / 200 requests. With this much time for each lock between two
 * looks, the console sends at most five requests a second however many locks there are.
 */
const PER_LOCK_MS = 1.25
const PER_LIMITER_MS = 200
/** The part of the time that looks may take: a store that is slow to list is asked less often. */
const DUTY = 0.1
/** So many tokens belong to one place in the store: see docs/explain/laws.md. */
const ISSUES = 1_024n
const NO_EVENTS: readonly Happening[] = []

type EndKind = NonNullable<Span['end']>

/** The outcome of a look, ready to be sent: the rows are JSON. */
export interface Look {
  readonly head: Head
  readonly rows: readonly string[]
  readonly gone: readonly string[]
}

export class Observer {
  readonly #hf: Holdfast
  readonly #settings: ConsoleSettings
  readonly #jobRuns: Jobs
  readonly #limits: Limiters
  readonly #reports: Reports
  readonly #circles = new Circles()
  readonly #past = new Past()
  readonly #events = new Ring<Happening>(EVENTS_MAX)
  readonly #points = new Ring<Point>(POINTS_MAX)
  readonly #tell: (look: Look) => void
  #locks = new Map<string, Lock>()
  #rows = new Map<string, string>()
  #fresh: Happening[] = []
  #handovers = 0
  #losses = 0
  readonly #lost = new Set<string>()
  #circle: CirclePart[][] = []
  #jobs: JobView[] = []
  #limiters: LimiterView[] = []
  #state: Head['store']['state'] = 'starting'
  #sinceMs = Date.now()
  #error = ''
  #everyMs: number
  #ids = 0
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(hf: Holdfast, settings: ConsoleSettings, tell: (look: Look) => void) {
    this.#hf = hf
    this.#settings = settings
    this.#jobRuns = new Jobs(hf)
    this.#limits = new Limiters(hf, settings.limiters, settings.prefix)
    this.#reports = new Reports(hf)
    this.#tell = tell
    this.#everyMs = settings.pollMs
    this.#wait(0)
  }

  close(): void {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  /** Everything, for a page that has just been opened. */
  all(): Look {
    const head = { ...this.#head(this.#points.all()), events: this.#events.all() }
    return { head, rows: [...this.#rows.values()], gone: [] }
  }

  detail(name: string): Detail {
    const lock = this.#locks.get(name)
    const ended = this.#past.spans(name)
    const events = this.#past.events(name)
    if (lock === undefined) return { row: null, holders: [], waiters: [], spans: ended, events }
    const { holders, waiters } = lock
    const open = holders.map((holder) => ({
      who: who(holder),
      token: holder.token,
      fromMs: holder.gotMs ?? holder.askedMs,
      toMs: null,
      end: null,
    }))
    return { row: rowOf(lock, this.#past.handovers(name)), holders, waiters, spans: [...ended, ...open], events }
  }

  /** Somebody broke the lock through this console, so it is known how its holders will end. */
  markBroken(name: string): void {
    const lock = this.#locks.get(name)
    if (lock === undefined) return
    this.#locks.set(name, { ...lock, holders: lock.holders.map((holder) => ({ ...holder, broken: true as const })) })
    for (const holder of lock.holders) this.#happen('broken', name, who(holder), holder.token, 'by this console')
  }

  #wait(ms: number): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.#look(), ms)
    // An application that has mounted the console can end without closing the console first.
    this.#timer.unref()
  }

  async #look(): Promise<void> {
    const began = performance.now()
    try {
      const lines: LineView[] = []
      for await (const line of this.#hf.list({ prefix: this.#settings.prefix })) lines.push(line)
      this.#jobs = await this.#jobRuns.look()
      const reported = await this.#reports.next()
      this.#limits.hear(this.#reports.limiters())
      this.#limiters = await this.#limits.look()
      if (this.#isClosed) return
      // The time of a look that waited for the store to come up does not show what looks cost.
      const slowMs = this.#state === 'up' ? (performance.now() - began) / DUTY : 0
      const manyMs = lines.length * PER_LOCK_MS + this.#limits.cost * PER_LIMITER_MS
      this.#everyMs = Math.round(Math.max(this.#settings.pollMs + manyMs, slowMs))
      for (const one of reported) this.#hear(one)
      this.#see(lines, Date.now())
    } catch (error) {
      if (this.#isClosed) return
      this.#fail(error)
    }
    this.#wait(Math.max(0, this.#everyMs - (performance.now() - began)))
  }

  #see(lines: readonly LineView[], nowMs: number): void {
    const isFirst = this.#state === 'starting'
    if (this.#state === 'down') {
      const seconds = Math.round((nowMs - this.#sinceMs) / 1_000)
      this.#happen('store back', '', '', '', `after ${seconds} s`)
    }
    if (this.#state !== 'up') this.#sinceMs = nowMs
    this.#state = 'up'
    this.#error = ''
    const locks = new Map<string, Lock>()
    for (const line of lines) locks.set(line.name, lockOf(line, nowMs, this.#locks.get(line.name)))
    const gone = [...this.#locks.keys()].filter((name) => !locks.has(name))
    // What the first look shows has not happened since.
    if (!isFirst) {
      for (const lock of locks.values()) this.#compare(this.#locks.get(lock.name), lock, nowMs)
      for (const name of gone) this.#compare(this.#locks.get(name), undefined, nowMs)
    }
    this.#locks = locks
    this.#seeCircles(lines, nowMs)
    this.#publish(gone, nowMs)
  }

  /** Takes what a process reports about itself, and the store does not show. */
  #hear({ atMs, event, lock, ms, reason, token, who: party }: Reported): void {
    const kind = event === 'lost' ? 'lost' : event === 'timed-out' ? 'timed out' : null
    if (kind === null || !lock.startsWith(this.#settings.prefix)) return
    const long = ms === null ? '' : `${kind === 'lost' ? 'held' : 'waited'} ${formatDuration(ms)}`
    const note = [reason, long, 'reported'].filter((part) => part !== '').join(', ')
    this.#happen(kind, lock, party, token, note, atMs)
  }

  #seeCircles(lines: readonly LineView[], nowMs: number): void {
    const before = new Set(this.#circle.map(keyOf))
    this.#circle = this.#circles.look(lines, nowMs)
    for (const circle of this.#circle) {
      if (before.has(keyOf(circle))) continue
      const [first] = circle
      this.#happen(
        'deadlock',
        first?.lock ?? '',
        circle.map((part) => part.who).join(' → '),
        '',
        `a circle of ${circle.length}`,
      )
    }
  }

  #compare(before: Lock | undefined, after: Lock | undefined, nowMs: number): void {
    const name = (after ?? before)?.name ?? ''
    for (const { kind, who: party, token, note, fromMs } of changesOf(before, after, nowMs)) {
      if (fromMs !== null) this.#past.held(name, { who: party, token, fromMs, toMs: nowMs, end: kind as EndKind })
      // A break by this console was published when it was done.
      if (kind !== 'broken') this.#happen(kind, name, party, token, note)
    }
  }

  #publish(gone: readonly string[], nowMs: number): void {
    const rows = new Map<string, string>()
    const changed: string[] = []
    let held = 0
    let waiting = 0
    for (const lock of this.#locks.values()) {
      const row = JSON.stringify(rowOf(lock, this.#past.handovers(lock.name)))
      if (row !== this.#rows.get(lock.name)) changed.push(row)
      rows.set(lock.name, row)
      held += lock.holders.length
      waiting += lock.waiters.length
    }
    this.#rows = rows
    const point = { atMs: nowMs, held, waiting, handovers: this.#handovers, losses: this.#losses }
    this.#handovers = 0
    this.#losses = 0
    this.#points.add(point)
    this.#send(changed, gone, [point])
  }

  #fail(error: unknown): void {
    const nowMs = Date.now()
    const text = error instanceof Error ? error.message : String(error)
    if (this.#state !== 'down') {
      this.#sinceMs = nowMs
      this.#happen('store lost', '', '', '', text)
    }
    this.#state = 'down'
    this.#error = text
    this.#everyMs = this.#settings.pollMs
    this.#send([], [], [])
  }

  #send(rows: readonly string[], gone: readonly string[], points: readonly Point[]): void {
    const head = { ...this.#head(points), events: this.#fresh }
    this.#fresh = []
    this.#tell({ head, rows, gone })
  }

  #head(points: readonly Point[]): Head {
    return {
      atMs: Date.now(),
      everyMs: this.#everyMs,
      store: { url: this.#settings.store, state: this.#state, sinceMs: this.#sinceMs },
      error: this.#error,
      allowBreak: this.#settings.allowBreak !== null,
      circles: this.#circle,
      jobs: this.#jobs,
      limiters: this.#limiters,
      events: NO_EVENTS,
      points,
    }
  }

  /** What the console sees end, its holder reports as well, sooner or later: it is one loss. */
  #countLoss(lock: string, token: string): void {
    const hold = holdOf(lock, token)
    if (this.#lost.has(hold)) return
    this.#lost.add(hold)
    if (this.#lost.size > LOST_MAX) this.#lost.delete(this.#lost.values().next().value as string)
    this.#losses++
  }

  #happen(kind: EventKind, lock: string, party: string, token: string, note: string, atMs: number = Date.now()): void {
    this.#ids++
    const event = { id: this.#ids, atMs, kind, lock, who: party, token, note }
    if (lock !== '') this.#past.tell(event)
    if (kind === 'handed over' || kind === 'elected') this.#handovers++
    if (kind === 'ran out' || kind === 'broken' || kind === 'lost') this.#countLoss(lock, token)
    // Frequent events are only for the page of the lock; here they would push out what people must see.
    if (kind === 'acquired' || kind === 'released' || kind === 'handed over') return
    this.#fresh.push(event)
    this.#events.add(event)
  }
}

/** One hold, also when it was handed on in its process: the store has one token for it, reports one for each caller. */
function holdOf(lock: string, token: string): string {
  return `${/^\d{1,30}$/.test(token) ? BigInt(token) / ISSUES : token} ${lock}`
}

/** Equal for the same circle in every look. */
const keyOf = (circle: readonly CirclePart[]): string => circle.map((part) => `${part.who} ${part.lock}`).join('\n')
