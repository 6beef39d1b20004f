/**
 * `holdfast/history`: exports a history for other programs: as a trace for Perfetto and Chrome, and for the torture
 * checker.
 */
import { CAPACITY_MAX } from '../acquire/spec.ts'
import type { HistoryEntry } from './history.ts'

/** What `toTrace` needs of an entry. Entries of `hf.history()` have it, and so does `recent` of a report. */
export type TraceEntry = Pick<HistoryEntry, 'atMs' | 'lock' | 'ms' | 'reason' | 'by'> & { readonly event: string }

/** The entries of one process. */
export interface TraceProcess {
  readonly host: string
  readonly pid: number
  readonly label: string
  /** What happened there. */
  readonly entries: readonly TraceEntry[]
}

const US = 1_000
/** The wall clock is read in whole milliseconds, and reports round lengths: so much may two bars seem to cross. */
const CLOCK_MS = 2
const WAITS = ['acquired', 'refused', 'timed-out', 'aborted', 'failed']
const HOLDS = ['released', 'lost']

/** Trace Event JSON: open it in ui.perfetto.dev or chrome://tracing. A row for each lock, waits and holds as bars. */
export function toTrace(processes: readonly TraceProcess[]): string {
  const events: object[] = []
  const pids = new Set<number>()
  for (const { host, pid: own, label, entries } of processes) {
    // In containers every process may be number 1, and a trace knows processes by their number only.
    let pid = own
    while (pids.has(pid)) pid++
    pids.add(pid)
    const name = label === '' ? `${host}:${own}` : `${label} (${host}:${own})`
    events.push({ ph: 'M', pid, tid: 0, name: 'process_name', args: { name } })
    const rows = new Rows()
    const drawn = entries.map((entry) => ({ pid, ...rows.place(entry) }))
    for (const [tid, text] of rows.names()) {
      events.push({ ph: 'M', pid, tid, name: 'thread_name', args: { name: text } })
    }
    for (const one of drawn) events.push(one)
  }
  return JSON.stringify({ displayTimeUnit: 'ms', traceEvents: events })
}

/** The rows of one process. Perfetto drops bars of a row that cross, so callers that overlap get more rows. */
class Rows {
  /** For each lock and kind, when each of its rows is free again. */
  readonly #lanes = new Map<string, { readonly tid: number; untilMs: number }[]>()
  #count = 0

  /** What is drawn, in a row that is free. Entries must come by their end, as they are written. */
  place({ atMs, event, lock, ms = 0, reason, by }: TraceEntry): object {
    const kind = WAITS.includes(event) ? 'wait' : HOLDS.includes(event) ? 'hold' : null
    const row = `${lock}: ${kind ?? 'hold'}`
    const lanes = this.#lanes.get(row) ?? []
    this.#lanes.set(row, lanes)
    let lane = kind === null ? lanes[0] : lanes.find(({ untilMs }) => untilMs <= atMs - ms + CLOCK_MS)
    if (lane === undefined) lanes.push((lane = { tid: ++this.#count, untilMs: 0 }))
    const args = { lock, ...(reason === undefined ? {} : { reason }), ...(by === undefined ? {} : { by }) }
    const where = { cat: 'holdfast', tid: lane.tid, args }
    if (kind === null) return { ph: 'i', s: 't', name: event, ts: atMs * US, ...where }
    const beginMs = Math.max(atMs - ms, lane.untilMs)
    lane.untilMs = Math.max(beginMs, atMs)
    const name = `${kind === 'wait' ? 'wait' : 'held'}: ${event}`
    return { ph: 'X', name, ts: beginMs * US, dur: (lane.untilMs - beginMs) * US, ...where }
  }

  names(): [tid: number, name: string][] {
    return [...this.#lanes].flatMap(([row, lanes]) =>
      lanes.map(({ tid }, i): [number, string] => [tid, i === 0 ? row : `${row} ${i + 1}`]),
    )
  }
}

/** A process with a history for the checker. */
export interface CheckableProcess {
  readonly host: string
  readonly pid: number
  readonly ttlMs: number
  /** What `hf.history()` returned there. */
  readonly entries: readonly HistoryEntry[]
}

/**
 * Lines for `holdfast torture check FILE`, which judges them by the laws: exclusion, tokens that rise, and so on. For
 * one process. Left out are readers that share a place, because they have the same token, and holds that began before
 * the oldest entry.
 */
export function toTortureHistory({ host, pid, ttlMs, entries }: CheckableProcess): string {
  const p = `${host}:${pid}`
  const lines = new Map<string, { name: string; kind: string; capacity: number }>()
  const asked = new Map<number, HistoryEntry>()
  const holds = new Map<string, number>()
  const events: object[] = []
  for (const entry of entries) {
    const { event, lock, request = 0, token, monoMs, capacity = 1, weight = 1 } = entry
    const t = Math.round(monoMs * US)
    if (event === 'requested') {
      if (capacity === CAPACITY_MAX && weight !== capacity) continue
      const kind = capacity === 1 ? 'mutex' : capacity === CAPACITY_MAX ? 'rw' : 'semaphore'
      lines.set(lock, { name: lock, kind, capacity })
      asked.set(request, entry)
      // Infinity is written as a day, because JSON has no word for it.
      const waitMs = Math.min(entry.waitMs ?? 0, 86_400_000)
      events.push({ t, e: 'acquire', p, i: request, line: lock, weight, exclusive: weight === capacity, waitMs })
    } else if (WAITS.includes(event) && asked.delete(request)) {
      const outcome = event === 'acquired' ? 'ok' : event === 'failed' ? 'unknown' : 'fail'
      const stamp = token === undefined ? {} : { token: String(token) }
      events.push({ t, e: 'acquired', p, i: request, outcome, ...stamp })
      if (event === 'acquired') holds.set(`${lock} ${token}`, request)
    } else if (HOLDS.includes(event)) {
      const i = holds.get(`${lock} ${token}`)
      if (i === undefined) continue
      holds.delete(`${lock} ${token}`)
      if (event === 'lost') events.push({ t, e: 'lost', p, i })
      else events.push({ t, e: 'release', p, i }, { t, e: 'released', p, i, outcome: 'ok' })
    }
  }
  const first = Math.round((entries[0]?.monoMs ?? 0) * US)
  const last = Math.round((entries.at(-1)?.monoMs ?? 0) * US)
  const head = { t: first, e: 'run', format: 1, seed: 0, store: 'a process', versions: '', ttlMs, clients: 1 }
  const run = { ...head, lines: [...lines.values()], fair: false, fenced: true, failoverMs: 0 }
  const end = { t: last, e: 'phase', name: 'end' }
  return [run, ...events, end].map((event) => `${JSON.stringify(event)}\n`).join('')
}
