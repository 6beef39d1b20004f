/**
 * Finds places by their ids, for places that this process has not entered itself: the id is in the value of the key.
 */
import type { Entry } from '../../contract/driver.ts'
import type { EtcdClient, KeyValue } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { type PlaceValue, readPlaceValue } from './place-value.ts'

export interface FoundPlace {
  readonly kv: KeyValue
  readonly value: PlaceValue
}

/** Lines in one transaction; etcd takes 128 operations. */
const LINES_PER_TXN = 32

/** For each entry the place with its id, if there is one. Each line is read once, as a whole. */
export async function findPlaces(
  client: EtcdClient,
  keys: Keys,
  entries: readonly Pick<Entry, 'line' | 'id'>[],
): Promise<(FoundPlace | undefined)[]> {
  const lines = [...new Set(entries.map(({ line }) => line))]
  const byId = new Map<string, FoundPlace>()
  for (let at = 0; at < lines.length; at += LINES_PER_TXN) {
    const ranges = lines.slice(at, at + LINES_PER_TXN).map((line) => keys.line(line))
    const { responses } = await client.txn({
      success: ranges.map(({ start, end }) => ({ range: { key: start, rangeEnd: end } })),
    })
    for (const kv of responses.flatMap(({ range }) => range?.kvs ?? [])) {
      const value = readPlaceValue(kv.value)
      byId.set(value.id, { kv, value })
    }
  }
  return entries.map(({ id }) => byId.get(id))
}
