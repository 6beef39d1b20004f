/** Turns rows, one per place in the order of names and tokens, into lines as people see them. */
import type { LineView, PlaceView } from '../../driver.ts'
import { placeView } from '../view.ts'

export interface PlaceRow {
  readonly name: string
  readonly capacity: number
  readonly token: bigint
  readonly weight: number
  readonly data: string
  readonly ageMs: number
  readonly leftMs: number
}

export function* linesOf(rows: readonly PlaceRow[]): Generator<LineView> {
  let at = 0
  while (at < rows.length) {
    const { name, capacity } = rows[at] as PlaceRow
    const holders: PlaceView[] = []
    const waiters: PlaceView[] = []
    let used = 0
    for (; rows[at]?.name === name; at++) {
      const row = rows[at] as PlaceRow
      used += row.weight
      ;(used <= capacity ? holders : waiters).push(placeView(row, row))
    }
    yield { name, capacity, holders, waiters }
  }
}
