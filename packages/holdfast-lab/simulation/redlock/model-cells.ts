/** The cells of one server in the model: only what a change of the servers needs, so they never lapse. */

interface Cell {
  readonly promised: number
  readonly ballot: number
  readonly version: number
  readonly nonce: string
  readonly value: string
  readonly history: string
}

const ABSENT: Cell = { promised: 0, ballot: 0, version: 0, nonce: '', value: '', history: '' }

export class ModelCells {
  readonly #cells = new Map<string, Cell>()

  prepare(key: string, [given = '']: readonly string[]): unknown[] {
    const cell = this.#cells.get(key) ?? ABSENT
    const isPromised = Number(given) > cell.promised
    if (isPromised) this.#cells.set(key, { ...cell, promised: Number(given) })
    const { ballot, version, nonce, value, history } = cell
    const full = value === '' ? 0 : 1
    const promised = Math.max(cell.promised, Number(given))
    return [isPromised ? 1 : 0, isPromised ? promised : cell.promised, ballot, version, 0, full, nonce, value, history]
  }

  accept(key: string, args: readonly string[]): unknown[] {
    const [given = '', version = '', , , value = '', nonce = '', , history = ''] = args
    const ballot = Number(given)
    const promised = this.#cells.get(key)?.promised ?? 0
    if (ballot < promised) return [0, promised]
    this.#cells.set(key, { promised: ballot, ballot, version: Number(version), nonce, value, history })
    return [1, ballot]
  }

  delete(key: string): void {
    this.#cells.delete(key)
  }

  clear(): void {
    this.#cells.clear()
  }
}
