/** The lines of the file as people see them. Each method runs inside a transaction. */
import type { LineView, PlaceView } from '../../contract/driver.ts'
import { placeView } from '../view.ts'
import type { Engine, Statement } from './engine.ts'
import { grantedOf, STORED_PLACE, type StoredPlace, weightOf } from './front.ts'
import type { Removal } from './removal.ts'

interface Stored extends StoredPlace {
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
    // Both engines cut text at the first NUL, which a name may contain. Read as bytes, the name comes whole.
    this.#names = engine.prepare(
      `SELECT hex(line) AS name FROM places WHERE line >= ? AND line > ? GROUP BY line ORDER BY line LIMIT ` +
        `${PAGE_LINES}`,
    )
    this.#places = engine.prepare(
      `SELECT entered_at, lapses_at, data, ${STORED_PLACE} FROM places WHERE line = ? ORDER BY token`,
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

  /** Removes all places of dead processes. */
  reapAll(now: number): void {
    const processes = this.#processes.all() as { readonly key: number }[]
    this.#removal.reap(
      processes.map((row) => row.key),
      now,
    )
  }
}

function lineView(name: string, places: readonly Stored[], now: number): LineView {
  const views = places.map((place): PlaceView => {
    const times = { ageMs: (now - place.entered_at) / 1e3, leftMs: (place.lapses_at - now) / 1e3 }
    return placeView({ ...place, weight: weightOf(place), token: BigInt(place.token) }, times)
  })
  const count = grantedOf(places).length
  const [holders, waiters] = [views.slice(0, count), views.slice(count)]
  return { name, capacity: places[0]?.capacity ?? 0, holders, waiters }
}
