/** Who holds and who waits, from the keys of a line. */
import type { KeyValue } from '../../clients/etcd/index.ts'
import { holdersOf } from '../shared/holders.ts'
import type { Keys, PlaceKey } from './keys.ts'
import type { Raise } from './raise.ts'

export interface Found extends PlaceKey {
  readonly kv: KeyValue
}

export interface Split {
  readonly capacity: number
  readonly holders: readonly Found[]
  readonly waiters: readonly Found[]
}

/** Skips keys that are not ours. */
export function splitLine(keys: Keys, kvs: readonly KeyValue[], raise: Raise | null): Split {
  const found: Found[] = []
  for (const kv of kvs) {
    const place = keys.read(kv.key)
    if (place !== null) found.push({ ...place, kv })
  }
  found.sort((a, b) => (a.kv.createRevision < b.kv.createRevision ? -1 : 1))
  const capacity = found[0]?.capacity ?? 0
  const raised = found.find(({ kv }) => kv.createRevision === raise?.token)
  const count = holdersOf(found, capacity, ({ kv }) => extra(kv, raised, raise)).length
  const shown = found.map((one) => (one === raised ? { ...one, weight: raise?.weight ?? 0 } : one))
  return { capacity, holders: shown.slice(0, count), waiters: shown.slice(count) }
}

/** How much heavier the raised place is for a place that was not granted beside it. */
function extra({ createRevision }: KeyValue, raised: Found | undefined, raise: Raise | null): number {
  if (raised === undefined || raise === null || createRevision <= (raise.beside ?? raise.revision)) return 0
  return raise.weight - raised.weight
}
