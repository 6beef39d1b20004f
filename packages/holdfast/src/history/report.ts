/**
 * Writes what a process sees into the store, for `holdfast why` and the console. docs/reference/events.md has the form.
 */
import type { Core } from '../acquire/core.ts'
import { diagnostics } from '../contract/events.ts'
import { UsageError } from '../contract/errors.ts'
import type { Cancel } from '../contract/runtime.ts'
import type { PlaceView } from '../contract/driver.ts'
import { StoreCell } from '../kit/cell.ts'
import { LimiterCounts, type ReportedLimiter } from '../kit/limiter/counts.ts'
import { entryOf, hearLocks, type HistoryKind } from './history.ts'

/** A process that holds what another process waits for. */
export interface Blocker {
  readonly host: string
  readonly pid: number
  readonly label: string
}

/** One event, as short as possible. */
export interface ReportedEvent {
  /** When it happened, by the wall clock of the process. */
  readonly atMs: number
  /** Named like the channels: `acquired`, `lost` and so on. */
  readonly event: string
  readonly lock: string
  /** `waitedMs` or `heldMs`. */
  readonly ms?: number
  /** Who granted: the store, or another caller of the process. */
  readonly by?: 'store' | 'process'
  /** For a loss or a failure: why. */
  readonly reason?: string
  readonly token?: string
}

/** The cell of one process. */
export interface Report extends Blocker {
  /** The version of this format. */
  readonly v: 1
  /** 16 hex digits, different for each instance. */
  readonly id: string
  /** When the instance was made, by the wall clock of the process. */
  readonly startedMs: number
  /** When the report was written. */
  readonly atMs: number
  /** Callers that wait now, the longest first; at most 32. */
  readonly waits: readonly {
    readonly lock: string
    readonly sinceMs: number
    readonly blockedBy: readonly Blocker[] | null
  }[]
  /** Holds of the process, the longest first; at most 32. */
  readonly holds: readonly { readonly lock: string; readonly token: string; readonly sinceMs: number }[]
  /** The busiest rate limits; at most 8. */
  readonly limiters: readonly ReportedLimiter[]
  /** What happened last, the newest at the end; at most 64. */
  readonly recent: readonly ReportedEvent[]
  /** How often each event happened since `startedMs`. */
  readonly totals: Readonly<Record<string, number>>
  /** Waits, holds, limiters and events that did not fit. */
  readonly omitted: number
}

/** A process that reports, in the list of all. */
export interface Reporter extends Blocker {
  /** When it last reported that it runs. */
  readonly atMs: number
}

export const REPORTS_KEY = 'holdfast/reports'
export const reportKey = (id: string): string => `holdfast/report/${id}`

const EVERY_MS = 2_000
const AGAIN_MS = 10_000
const REPORT_TTL_MS = 30_000
const LIST_EVERY_MS = 180_000
const LIST_TTL_MS = 600_000
const REPORTERS_MAX = 256
const ITEMS_MAX = 32
const RECENT_MAX = 64
/** The most limiters in a report, and the most keys of each. */
const LIMITERS_MAX = 8
const BYTES_MAX = 8_192
/**
 * After a wait of this length it is worth a look at who holds the lock, and again every `AGAIN_MS`, because the holder
 * changes while others wait. Each report makes at most so many looks.
 */
const LONG_WAIT_MS = 1_000
const LOOKS_MAX = 4

interface Wait {
  readonly lock: string
  readonly sinceMs: number
  readonly holders: () => Promise<readonly PlaceView[]>
  /** Who held the lock when somebody looked; null: nobody has looked yet. */
  blockedBy: readonly Blocker[] | null
  /** When to look next, by the monotonic clock. */
  lookAt: number
}

export class Reporting {
  readonly #core: Core
  readonly #who: Blocker
  readonly #id: string
  readonly #startedMs: number
  readonly #cell: StoreCell<Report>
  readonly #list: StoreCell<Record<string, Reporter>>
  readonly #stopHearing: () => void
  /** What this process asked of its limiters. */
  readonly limiters: LimiterCounts = new LimiterCounts(() => {
    this.#isChanged = true
  })
  readonly #waits = new Map<number, Wait>()
  readonly #holds = new Map<string, { lock: string; token: string; sinceMs: number; count: number }>()
  /** Processes of the list: what they wrote last, and since when that stands there, by the monotonic clock. */
  readonly #others = new Map<string, { readonly atMs: number; readonly sinceMs: number }>()
  readonly #recent: ReportedEvent[] = []
  readonly #totals: Record<string, number> = {}
  #version = 0n
  #isChanged = true
  #writtenAt = Number.NEGATIVE_INFINITY
  #listedAt = Number.NEGATIVE_INFINITY
  #cancel: Cancel
  #isOver = false

  constructor(core: Core, label: string) {
    const { runtime } = core
    this.#core = core
    this.#who = { host: runtime.host, pid: runtime.pid, label }
    this.#id = runtime.randomId().slice(0, 16)
    this.#startedMs = runtime.wallNow()
    this.#cell = new StoreCell(core, reportKey(this.#id), REPORT_TTL_MS)
    this.#list = new StoreCell(core, REPORTS_KEY, LIST_TTL_MS)
    this.#stopHearing = hearLocks(core.source, (event, told) => this.#heard(event, told))
    this.#cancel = runtime.after(EVERY_MS, () => void this.#tick(), false)
  }

  close(): void {
    this.#isOver = true
    this.#stopHearing()
    this.#cancel()
  }

  #heard(event: HistoryKind, told: Parameters<typeof entryOf>[1]): void {
    const entry = entryOf(event, told, this.#core.runtime)
    const { atMs, lock, ms, by, reason, token, request = 0 } = entry
    this.#isChanged = true
    this.#totals[event] = (this.#totals[event] ?? 0) + 1
    if (event === 'waiting') {
      // The event comes again when the caller goes on waiting elsewhere: it is still one wait, from its beginning.
      const { holders } = told as unknown as Pick<Wait, 'holders'>
      const wait = { lock, sinceMs: atMs, holders, blockedBy: null, lookAt: entry.monoMs + LONG_WAIT_MS }
      if (!this.#waits.has(request)) this.#waits.set(request, wait)
    } else if (event !== 'requested') {
      this.#waits.delete(request)
    }
    this.#follow(event, lock, String(token), atMs)
    if (event === 'requested') return
    this.#recent.push({
      atMs,
      event,
      lock,
      ...(ms === undefined ? {} : { ms: Math.round(ms) }),
      ...(by === undefined ? {} : { by }),
      ...(reason === undefined ? {} : { reason: reason.slice(0, 200) }),
      ...(token === undefined ? {} : { token: String(token) }),
    })
    if (this.#recent.length > RECENT_MAX) this.#recent.shift()
  }

  /** Readers that share a place have one token: their hold ends with the last of them. */
  #follow(event: HistoryKind, lock: string, token: string, sinceMs: number): void {
    const key = `${token} ${lock}`
    const hold = this.#holds.get(key)
    if (event === 'acquired') {
      if (hold === undefined) this.#holds.set(key, { lock, token, sinceMs, count: 1 })
      else hold.count++
    } else if ((event === 'released' || event === 'lost') && hold !== undefined && --hold.count === 0) {
      this.#holds.delete(key)
    }
  }

  async #tick(): Promise<void> {
    try {
      const now = this.#core.runtime.now()
      if (now - this.#listedAt >= LIST_EVERY_MS) await this.#enlist(now)
      if (this.#isChanged || now - this.#writtenAt >= AGAIN_MS || this.#unseen(now).length > 0) await this.#write(now)
    } catch (error) {
      // The store is silent, or has no cells. A report is only for people, and locks go on without it.
      diagnostics.failed(REPORTS_KEY, error)
    }
    if (!this.#isOver) this.#cancel = this.#core.runtime.after(EVERY_MS, () => void this.#tick(), false)
  }

  async #enlist(now: number): Promise<void> {
    const atMs = this.#core.runtime.wallNow()
    await this.#list.update((before) => {
      const others = Object.entries(before ?? {}).filter(([id, one]) => id !== this.#id && this.#isAlive(id, one, now))
      if (others.length >= REPORTERS_MAX) {
        throw new UsageError(`${REPORTERS_MAX} processes report already, so this one does not`)
      }
      return Object.fromEntries([...others, [this.#id, { ...this.#who, atMs }]])
    })
    this.#listedAt = now
    for (const [id, { sinceMs }] of this.#others) if (now - sinceMs > 2 * LIST_TTL_MS) this.#others.delete(id)
  }

  /**
   * Whether a process still reports. The clock of its host may be an hour off: then what counts is that its entry
   * changes, by our monotonic clock. Otherwise one host with a wrong clock would strike out all others.
   */
  #isAlive(id: string, one: Reporter | null, now: number): boolean {
    const written = one?.atMs
    if (typeof written !== 'number') return false
    const last = this.#others.get(id)
    const sinceMs = last?.atMs === written ? last.sinceMs : now
    this.#others.set(id, { atMs: written, sinceMs })
    if (Math.abs(this.#core.runtime.wallNow() - written) < LIST_TTL_MS) return true
    return last !== undefined && now - sinceMs < LIST_TTL_MS
  }

  async #write(now: number): Promise<void> {
    await this.#look(now)
    this.#isChanged = false
    const report = this.#make()
    let version = await this.#cell.write(report, this.#version)
    // The report has lapsed, or a write of ours got no answer: nobody else writes there.
    if (version === null) version = await this.#cell.write(report, (await this.#cell.read()).version)
    this.#version = version ?? 0n
    this.#writtenAt = now
  }

  /** The long waits of which it is not known who blocks them now: first those that are due for longest. */
  #unseen(now: number): Wait[] {
    return [...this.#waits.values()].filter(({ lookAt }) => lookAt <= now).toSorted((a, b) => a.lookAt - b.lookAt)
  }

  /** One question for each lock, however many wait for it. */
  async #look(now: number): Promise<void> {
    const asked = new Set<string>()
    for (const { lock, holders } of this.#unseen(now)) {
      if (asked.has(lock)) continue
      if (asked.size === LOOKS_MAX) return
      asked.add(lock)
      const blockedBy = (await holders()).slice(0, 3).map(({ host, pid, label }) => ({ host, pid, label }))
      const seen = { blockedBy, lookAt: now + AGAIN_MS }
      for (const wait of this.#waits.values()) if (wait.lock === lock) Object.assign(wait, seen)
    }
  }

  /** As much as fits: of every list the same number of entries is left out, in the end all of them. */
  #make(): Report {
    const [waits, holds] = [[...this.#waits.values()], [...this.#holds.values()]]
    for (let left = 0; ; left++) {
      const isLast = left >= RECENT_MAX
      const most = (max: number): number => (isLast ? 0 : Math.max(1, max - left))
      const report: Report = {
        v: 1,
        id: this.#id,
        ...this.#who,
        startedMs: this.#startedMs,
        atMs: this.#core.runtime.wallNow(),
        waits: waits.slice(0, most(ITEMS_MAX)).map(({ lock, sinceMs, blockedBy }) => ({ lock, sinceMs, blockedBy })),
        holds: holds.slice(0, most(ITEMS_MAX)).map(({ lock, token, sinceMs }) => ({ lock, token, sinceMs })),
        limiters: this.limiters.report(most(LIMITERS_MAX), most(LIMITERS_MAX)),
        recent: this.#recent.slice(left),
        totals: this.#totals,
        omitted: left,
      }
      if (isLast || Buffer.byteLength(JSON.stringify(report)) <= BYTES_MAX) {
        const cut = waits.length - report.waits.length + holds.length - report.holds.length
        return { ...report, omitted: left + cut + this.limiters.used - report.limiters.length }
      }
    }
  }
}
