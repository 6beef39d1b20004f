/**
 * A place that has become heavier than it was entered. Its name says what it weighed then, so the new weight stands in
 * the name of a node beside it, a mark: whoever lists the line sees it. The mark is of the same session as the place.
 *
 * Whoever was granted before stays granted, and the raised place waits for them. So it is written in two steps: first
 * an open mark, from which on nobody is newly granted; then a settled one, with the last place that was granted beside
 * it. Grants are a prefix of the line that only grows while nobody gets heavier, and the server numbers the mark like
 * the places: whoever was granted before the mark, and lives, is in the prefix of a list that was read after it, and
 * has a lower number. Also who was granted by a list of a follower that was behind: that list was the line of an
 * earlier moment.
 */
import type { Named } from './layout.ts'

export interface Raise {
  /** The node that says so. */
  readonly name: string
  readonly weight: number
  /** The last place that was granted when it became heavier, in the same order as the places; null: not known yet. */
  readonly beside: number | null
  /** Where the mark stands among the places. */
  readonly order: number
}

/** A mark, as its node's name tells. */
export interface Mark {
  readonly name: string
  /** Of the place. */
  readonly id: string
  readonly weight: number
  /** The number of the last that was granted beside it, and its czxid, for where numbers are not trusted. */
  readonly beside: { readonly number: number; readonly czxid: number } | null
  readonly order: number
}

const MARK = /^r-([0-9a-f]{32})-(\d{1,7})-(?:o|(-?\d{1,12})_(\d{1,19}))-(-?\d{10,})$/

/** The node to be created; the server adds its number. */
export function markName(id: string, weight: number, beside: Mark['beside']): string {
  return `r-${id}-${weight}-${beside === null ? 'o' : `${beside.number}_${beside.czxid}`}-`
}

export function parseMark(name: string): Mark | null {
  const match = MARK.exec(name)
  if (match === null) return null
  const [, id = '', weight, number, czxid, order] = match
  const beside = number === undefined ? null : { number: Number(number), czxid: Number(czxid) }
  return { name, id, weight: Number(weight), beside, order: Number(order) }
}

/** Of several marks of a place the settled one counts: the open one is about to go. */
export function raiseOf(marks: readonly Mark[], id: string, byCzxid: boolean): Raise | undefined {
  const own = marks.filter((mark) => mark.id === id)
  const mark = own.find(({ beside }) => beside !== null) ?? own[0]
  if (mark === undefined) return undefined
  const { name, weight, order, beside } = mark
  return { name, weight, order, beside: beside === null ? null : byCzxid ? beside.czxid : beside.number }
}

/** The one that is heavier than it was entered; there is one at most. */
export function raisedIn(line: readonly Named[]): Named | null {
  return line.find(({ raise }) => raise !== undefined) ?? null
}

/** What it weighs for one who comes now. */
export function fullWeight({ weight, raise }: Named): number {
  return raise?.weight ?? weight
}

/** Granted before the raise; while nobody knows, only who has been told so is. */
export function isBeside({ beside, order }: Raise, me: Pick<Named, 'order'>, granted: boolean): boolean {
  return beside === null ? granted && me.order < order : me.order <= beside
}
