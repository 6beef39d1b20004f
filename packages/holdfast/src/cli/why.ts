/** `holdfast why`: who holds a lock, who waits for whom and how long, and what processes reported about it. */
import { writeFileSync } from 'node:fs'
import { checkName } from '../contract/check.ts'
import type { PlaceView } from '../contract/driver.ts'
import { UnsupportedError } from '../contract/errors.ts'
import { toTrace } from '../history/export.ts'
import { type Blocker, type Report, type Reporter, reportKey, REPORTS_KEY } from '../history/report.ts'
import type { Holdfast } from '../holdfast.ts'
import type { Given, Syntax } from './args.ts'
import { STORE_HELP } from './command.ts'
import { formatDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { print } from './output.ts'
import { findLine } from './show.ts'
import { withStore } from './store.ts'
import { printable } from './table.ts'
import { isoOf, lineJson, who } from './view.ts'

export const syntax: Syntax = {
  command: 'why',
  options: { store: 'value', json: 'flag', trace: 'value' },
  operands: ['NAME'],
  runs: false,
}

export const help: string = `Says why a lock is not free: who holds it since when, who waits for whom and how long,
and what happened lately.

Usage: holdfast why NAME [--store URL] [--json] [--trace FILE]

What happened lately is known of processes that report to the store: holdfast(url, { report: true }).

${STORE_HELP}
  --json          one object: { line, reports }; each report has only what concerns the lock
  --trace FILE    writes what happened as a trace that ui.perfetto.dev and chrome://tracing open

Examples:
  holdfast why stock:42
  holdfast why stock:42 --trace stock.json`

export function execute(given: Given): Promise<number> {
  const name = checkName('NAME', given.operands[0])
  return withStore(given, async (hf) => {
    const line = await findLine(hf, name)
    const reports = (await readReports(hf))
      .map((report) => about(report, name))
      .filter(({ recent, waits, holds }) => recent.length + waits.length + holds.length > 0)
    const trace = given.values.get('trace')
    if (trace !== undefined)
      writeFileSync(trace, toTrace(reports.map((report) => ({ ...report, entries: report.recent }))))
    if (given.flags.has('json')) print(`{"line":${lineJson(line)},"reports":${JSON.stringify(reports)}}`)
    else print([...standing(name, line.holders, line.waiters), ...lately(reports)].join('\n'))
    return EXIT.ok
  })
}

/** What all processes report now; empty if the store has no cells. */
async function readReports(hf: Holdfast): Promise<Report[]> {
  try {
    const { value } = await hf.cell<Record<string, Reporter>>(REPORTS_KEY).read()
    const ids = Object.keys(isRecord(value) ? value : {}).filter((id) => /^[0-9a-f]{1,64}$/.test(id))
    const read = await Promise.all(ids.map((id) => hf.cell<unknown>(reportKey(id)).read()))
    return read.flatMap(({ value: report }) => (isReport(report) ? [report] : []))
  } catch (error) {
    if (error instanceof UnsupportedError) return []
    throw error
  }
}

/**
 * Any user of the store may have written the value: if it does not look like a report, it does not count as a report.
 */
function isReport(value: unknown): value is Report {
  if (!isRecord(value)) return false
  return [value.waits, value.holds, value.recent].every((list) => Array.isArray(list) && list.every(isRecord))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function about(report: Report, name: string): Report {
  const of = <T extends { readonly lock: string }>(all: readonly T[]): T[] => all.filter(({ lock }) => lock === name)
  return { ...report, waits: of(report.waits), holds: of(report.holds), recent: of(report.recent) }
}

function standing(name: string, holders: readonly PlaceView[], waiters: readonly PlaceView[]): string[] {
  if (holders.length === 0)
    return [`${printable(name)}: nobody holds it${waiters.length === 0 ? ', nobody waits' : ''}`]
  const held = holders.map(
    (place) =>
      `held by ${printable(who(place))} for ${formatDuration(place.ageMs)}, ${formatDuration(place.leftMs)} of ` +
      `its lease left`,
  )
  const front = holders.map((place) => printable(who(place))).join(', ')
  const waiting = waiters.map((place, i) => {
    const before = i === 0 ? front : `${printable(who(waiters[i - 1] as PlaceView))}, who is in front`
    const holds = (place.holds ?? []).map(({ line }) => printable(line)).join(', ')
    const also = holds === '' ? '' : `, and holds ${holds}`
    return `  ${printable(who(place))} has waited for ${formatDuration(place.ageMs)} for ${before}${also}`
  })
  return [`${printable(name)}: ${held.join('; ')}`, ...waiting]
}

function lately(reports: readonly Report[]): string[] {
  const all = reports.flatMap((report) => report.recent.map((event) => ({ ...event, from: printable(who(report)) })))
  if (all.length === 0) return ['', 'no process reports about it (holdfast(url, { report: true }) does)']
  const lines = all
    .toSorted((a, b) => a.atMs - b.atMs)
    .slice(-20)
    .map(({ atMs, from, event, ms, by, reason }) => {
      const span = ms === undefined ? '' : ` after ${formatDuration(ms)}`
      const how = by === undefined ? '' : event === 'waiting' ? ` (in the ${by})` : ` (from the ${by})`
      const why = reason === undefined ? '' : `: ${reason}`
      return printable(`  ${isoOf(atMs)} ${from} ${event}${span}${how}${why}`)
    })
  const blocked = reports.flatMap((report) =>
    report.waits.flatMap(({ blockedBy }) => {
      const names = (Array.isArray(blockedBy) ? blockedBy : [])
        .filter(isRecord)
        .map((one) => printable(who(one as unknown as Blocker)))
        .join(', ')
      return names === '' ? [] : [`  ${printable(who(report))} waits for ${names}`]
    }),
  )
  return ['', 'lately, as processes reported:', ...lines, ...blocked]
}
