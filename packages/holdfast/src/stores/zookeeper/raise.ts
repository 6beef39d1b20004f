/**
 * A place that is heavier than when it entered. Its name says its first weight, so the new weight is in the name of a
 * node beside it, a mark: whoever lists the line sees it. The mark belongs to the same session as the place.
 *
 * Whoever was granted before stays granted, and the raised place waits for them. So the raise is written in two steps:
 * first an open mark, from which on nobody is newly granted; then a settled mark, with the last place that was granted
 * beside it. Grants are a prefix of the line that only grows while nobody gets heavier, and the server numbers the mark
 * like the places. So a place that was granted before the mark, and lives, is in the prefix of every list that is read
 * after the mark, and has a lower number. That also holds for a place granted by the list of a follower that was
 * behind: that list was the line of an earlier moment.
 */
import type { Named } from './layout.ts'

export interface Raise {
  /** The node of the mark. */
  readonly name: string
  readonly weight: number
  /**
   * The last place that was granted when this place became heavier, in the order of the places; null: not known yet.
   */
  readonly beside: number | null
  /** The position of the mark among the places. */
  readonly order: number
}

/** A mark, as the name of its node says. */
export interface Mark {
  readonly name: string
  /** The id of the place. */
  readonly id: string
  readonly weight: number
  /** The number of the last place granted beside it, and its czxid, for lines where numbers are not trusted. */
  readonly beside: { readonly number: number; readonly czxid: number } | null
  readonly order: number
}

const MARK = /^r-([0-9a-f]{32})-(\d{1,7})-(?:o|(-?\d{1,12})_(\d{1,19}))-(-?\d{10,})$/

/** The node to create; the server adds its number. */
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

/** The place that is heavier than when it entered; there is at most one. */
export function raisedIn(line: readonly Named[]): Named | null {
  return line.find(({ raise }) => raise !== undefined) ?? null
}

/** The weight of a place for a newcomer. */
export function fullWeight({ weight, raise }: Named): number {
  return raise?.weight ?? weight
}

/** Whether a place was granted before the raise. While that is not known, only a place that knows its grant counts. */
export function isBeside({ beside, order }: Raise, me: Pick<Named, 'order'>, granted: boolean): boolean {
  return beside === null ? granted && me.order < order : me.order <= beside
}
