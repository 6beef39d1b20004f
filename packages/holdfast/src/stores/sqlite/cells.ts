/** Compare-and-set cells in the file. Each method runs inside a transaction. */
import type { CellView, Change } from '../../contract/driver.ts'
import type { Engine, Statement } from './engine.ts'
import { CELL_TOMBSTONE_MS } from '../shared/tombstones.ts'

interface Cell {
  readonly version: number
  readonly value: string | null
  readonly nonce: string
}

const SWEEP_US = 60e6
const SWEEP_MAX = 1_000

export class Cells {
  readonly #nextVersion: (last: number) => number
  readonly #select: Statement
  readonly #last: Statement
  readonly #write: Statement
  readonly #sweep: Statement
  #sweptAt = 0

  constructor(engine: Engine, nextVersion: (last: number) => number) {
    this.#nextVersion = nextVersion
    this.#select = engine.prepare(
      'SELECT version, value, nonce FROM cell WHERE key = ? AND (lapses_at IS NULL OR lapses_at > ?)',
    )
    this.#last = engine.prepare('SELECT token FROM host')
    this.#write = engine.prepare('INSERT OR REPLACE INTO cell VALUES (?, ?, ?, ?, ?, ?)')
    this.#sweep = engine.prepare(
      `DELETE FROM cell WHERE key IN (SELECT key FROM cell WHERE lapses_at <= ? LIMIT ${SWEEP_MAX})`,
    )
  }

  swap(key: string, change: Change | null, now: number): CellView {
    const cell = this.#select.get(key, now) as Cell | undefined
    if (change === null || cell?.nonce === change.nonce || view(cell).version !== change.version) return view(cell)
    this.#tidy(now)
    const { next, nonce } = change
    const ttlUs = next === null ? CELL_TOMBSTONE_MS * 1_000 : Math.ceil(change.ttlMs * 1e3)
    const version = this.#nextVersion((this.#last.get() as { readonly token: number }).token)
    this.#write.run(key, version, next, nonce, ttlUs, ttlUs === 0 ? null : now + ttlUs)
    return view({ version, value: next, nonce })
  }

  /** Removes lapsed cells that nobody asks for again. */
  #tidy(now: number): void {
    if (now - this.#sweptAt < SWEEP_US) return
    this.#sweptAt = now
    this.#sweep.run(now)
  }
}

function view(cell: Cell | undefined): CellView {
  if (cell === undefined) return { version: 0n, value: null, nonce: null }
  if (cell.value === null) return { version: 0n, value: null, nonce: cell.nonce }
  return { version: BigInt(cell.version), value: cell.value, nonce: cell.nonce }
}
