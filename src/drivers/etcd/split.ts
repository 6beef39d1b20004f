/** Who holds and who waits, from the keys of a line. */
import type { KeyValue } from './client/index.ts'
import type { Keys, PlaceKey } from './keys.ts'

export interface Found {
  readonly kv: KeyValue
  readonly place: PlaceKey
}

export interface Split {
  readonly capacity: number
  readonly holders: readonly Found[]
  readonly waiters: readonly Found[]
}

/** Keys that are none of ours are passed over. */
export function splitLine(keys: Keys, kvs: readonly KeyValue[]): Split {
  const found: Found[] = []
  for (const kv of kvs) {
    const place = keys.read(kv.key)
    if (place !== null) found.push({ kv, place })
  }
  found.sort((a, b) => (a.kv.createRevision < b.kv.createRevision ? -1 : 1))
  const capacity = found[0]?.place.capacity ?? 0
  let used = 0
  const waiting = found.findIndex(({ place }) => {
    used += place.weight
    return used > capacity
  })
  const count = waiting === -1 ? found.length : waiting
  return { capacity, holders: found.slice(0, count), waiters: found.slice(count) }
}
