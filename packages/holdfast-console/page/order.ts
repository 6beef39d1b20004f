/** Which locks are shown, and in which order. */
import type { Row } from '../src/wire.ts'

export type SortKey = 'name' | 'holder' | 'held' | 'lease' | 'token' | 'waiting' | 'handovers'

export interface View {
  /** In the name of the lock or of a holder: label, host, pid. */
  readonly search: string
  readonly prefix: string
  readonly only: 'all' | 'contended'
  readonly sort: SortKey
  readonly down: boolean
}

/** By contention: who makes most others wait, and for how long. */
export const FIRST_VIEW: View = { search: '', prefix: '', only: 'all', sort: 'waiting', down: true }

export function visible(rows: ReadonlyMap<string, Row>, view: View): Row[] {
  const wanted = view.search.trim().toLowerCase()
  const found: Row[] = []
  for (const row of rows.values()) {
    if (!row.name.startsWith(view.prefix)) continue
    if (view.only === 'contended' && row.waiting === 0) continue
    if (wanted !== '' && !matches(row, wanted)) continue
    found.push(row)
  }
  const sign = view.down ? -1 : 1
  return found.sort((a, b) => sign * compare(a, b, view.sort) || (a.name < b.name ? -1 : 1))
}

function matches(row: Row, wanted: string): boolean {
  if (row.name.toLowerCase().includes(wanted)) return true
  return row.holders.some(({ label, host, pid }) => `${label} ${host}:${pid}`.toLowerCase().includes(wanted))
}

function compare(a: Row, b: Row, key: SortKey): number {
  const [x, y] = [a.holders[0], b.holders[0]]
  switch (key) {
    case 'name':
      return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
    case 'holder':
      return text(a).localeCompare(text(b))
    // The longer, the earlier it began.
    case 'held':
      return (y?.gotMs ?? y?.askedMs ?? Infinity) - (x?.gotMs ?? x?.askedMs ?? Infinity) || 0
    case 'lease':
      return (x?.endMs ?? Infinity) - (y?.endMs ?? Infinity) || 0
    case 'token':
      return Number(BigInt(x?.token ?? 0) - BigInt(y?.token ?? 0))
    case 'waiting':
      return a.waiting - b.waiting || (b.oldestMs ?? Infinity) - (a.oldestMs ?? Infinity) || a.handovers - b.handovers
    case 'handovers':
      return a.handovers - b.handovers
    default:
      return key satisfies never
  }
}

function text({ holders: [first] }: Row): string {
  return first === undefined ? '' : `${first.label} ${first.host}:${first.pid}`
}

/** Beginnings that several names share, the most frequent first: `stock:`, `orders/eu/`. */
export function prefixes(rows: ReadonlyMap<string, Row>): { readonly prefix: string; readonly count: number }[] {
  const counts = new Map<string, number>()
  for (const name of rows.keys()) {
    const start = /^.*?[:/.]/.exec(name)?.[0]
    if (start !== undefined) counts.set(start, (counts.get(start) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([prefix, count]) => ({ prefix, count }))
    .sort((a, b) => b.count - a.count)
    .slice(0, 40)
}
