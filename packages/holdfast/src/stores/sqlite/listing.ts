/** The lines of the file as people see them. Each method runs inside a transaction. */
import type { LineView, PlaceView } from '../../driver.ts'
import { placeView } from '../view.ts'
import type { Engine, Statement } from './engine.ts'
import type { Removal } from './removal.ts'

interface Stored {
  readonly token: number
  readonly weight: number
  readonly capacity: number
  readonly entered_at: number
  readonly lapses_at: number
  readonly data: string
}

const PAGE_LINES = 50

export class Listing {
  readonly #removal: Removal
  readonly #names: Statement
  readonly #places: Statement
  readonly #processes: Statement

  constructor(engine: Engine, removal: Removal) {
    this.#removal = removal
    // Both engines cut text that they read at the first NUL, which a name may hold: read as bytes it comes whole.
    this.#names = engine.prepare(
      `SELECT hex(line) AS name FROM place WHERE line >= ? AND line > ? GROUP BY line ORDER BY line LIMIT ${PAGE_LINES}`,
    )
    this.#places = engine.prepare(
      'SELECT token, weight, capacity, entered_at, lapses_at, data FROM place WHERE line = ? ORDER BY token',
    )
    this.#processes = engine.prepare('SELECT key FROM process')
  }

  /** The next lines after the given one; an empty page ends the list. */
  page(prefix: string, after: string, now: number): LineView[] {
    if (after === '') this.reapAll(now)
    const names = (this.#names.all(prefix, after) as { readonly name: string }[])
      .map((row) => Buffer.from(row.name, 'hex').toString())
      .filter((name) => name.startsWith(prefix))
    const views: LineView[] = []
    for (const name of names) {
      this.#removal.purge(name, now)
      views.push(lineView(name, this.#places.all(name) as Stored[], now))
    }
    return views
  }

  /** Removes all that dead processes have left. */
  reapAll(now: number): void {
    const processes = this.#processes.all() as { readonly key: number }[]
    this.#removal.reap(
      processes.map((row) => row.key),
      now,
    )
  }
}

function lineView(name: string, places: readonly Stored[], now: number): LineView {
  const holders: PlaceView[] = []
  const waiters: PlaceView[] = []
  let used = 0
  for (const place of places) {
    used += place.weight
    const times = { ageMs: (now - place.entered_at) / 1e3, leftMs: (place.lapses_at - now) / 1e3 }
    const view = placeView({ ...place, token: BigInt(place.token) }, times)
    ;(used <= place.capacity ? holders : waiters).push(view)
  }
  return { name, capacity: places[0]?.capacity ?? 0, holders, waiters }
}
