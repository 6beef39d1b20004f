/** Compare-and-set cells in memory. */
import type { CellView, Change } from '../../contract/driver.ts'
import { CELL_TOMBSTONE_MS } from '../shared/tombstones.ts'

interface Cell {
  readonly version: bigint
  readonly value: string | null
  readonly nonce: string
  readonly lapsesAt: number
}

export class Cells {
  readonly #cells = new Map<string, Cell>()
  readonly #nextVersion: () => bigint

  constructor(nextVersion: () => bigint) {
    this.#nextVersion = nextVersion
  }

  swap(key: string, change: Change | null, now: number): CellView {
    const cell = this.#find(key, now)
    if (change === null || cell?.nonce === change.nonce) return view(cell)
    if (view(cell).version !== change.version) return view(cell)
    const lapsesAt =
      change.next === null
        ? now + CELL_TOMBSTONE_MS
        : change.ttlMs === 0
          ? Number.POSITIVE_INFINITY
          : now + change.ttlMs
    const next: Cell = { version: this.#nextVersion(), value: change.next, nonce: change.nonce, lapsesAt }
    this.#cells.set(key, next)
    return view(next)
  }

  #find(key: string, now: number): Cell | undefined {
    const cell = this.#cells.get(key)
    if (cell === undefined || now < cell.lapsesAt) return cell
    this.#cells.delete(key)
    return undefined
  }
}

function view(cell: Cell | undefined): CellView {
  if (cell === undefined) return { version: 0n, value: null, nonce: null }
  if (cell.value === null) return { version: 0n, value: null, nonce: cell.nonce }
  return { version: cell.version, value: cell.value, nonce: cell.nonce }
}
