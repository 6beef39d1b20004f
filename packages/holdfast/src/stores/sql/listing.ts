/**
 * Turns what both SQL stores list, one row per place in the order of names and tokens, into lines as people see them.
 */
import type { LineView, PlaceView } from '../../contract/driver.ts'
import { placeView } from '../view.ts'
import { unhex } from './hex.ts'
import { US } from './places.ts'

interface PlaceRow {
  readonly name: string
  readonly capacity: number
  readonly token: bigint
  readonly weight: number
  readonly data: string
  readonly ageMs: number
  readonly leftMs: number
  readonly isHeld: boolean
}

/** Rows of name (hex), capacity, token, weight, age, left (µs), data and whether it is granted. */
export function* linesOf(answer: readonly unknown[][]): Generator<LineView> {
  const rows = answer.map(readRow)
  let at = 0
  while (at < rows.length) {
    const { name, capacity } = rows[at] as PlaceRow
    const holders: PlaceView[] = []
    const waiters: PlaceView[] = []
    for (; rows[at]?.name === name; at++) {
      const row = rows[at] as PlaceRow
      ;(row.isHeld ? holders : waiters).push(placeView(row, row))
    }
    yield { name, capacity, holders, waiters }
  }
}

function readRow([name, capacity, token, weight, age, left, data, held]: unknown[]): PlaceRow {
  return {
    name: unhex(name),
    capacity: Number(capacity),
    token: BigInt(String(token)),
    weight: Number(weight),
    data: String(data),
    ageMs: Number(age) / US,
    leftMs: Number(left) / US,
    isHeld: Number(held) === 1,
  }
}
