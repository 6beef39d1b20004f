/**
 * A place that is heavier than when it entered. Its key names the weight of its enter, so the new weight is in a key
 * beside the line, on the same lease. A line has at most one raised place.
 *
 * Whoever was granted before stays granted, and the raised place waits for them. So the raise is written in two steps.
 * The first writes a mark, from which on nobody is newly granted, and reads the line as of that very step. The second
 * writes `beside`: the last token that was granted then. Grants are a prefix of the line that only grows while nobody
 * gets heavier. So every place that was granted before the mark, and still lives, is in that prefix.
 */
import type { KeyValue } from '../../clients/etcd/index.ts'
import { holdersOf } from '../shared/holders.ts'
import type { Keys } from './keys.ts'

export interface Raise {
  /** The place. */
  readonly token: bigint
  /** Its weight for places that were not granted beside it. */
  readonly weight: number
  /** The last token that was granted when the place became heavier; null: not known yet. */
  readonly beside: bigint | null
  /** The revision of the last step. */
  readonly revision: bigint
}

/** A place, or a newcomer, that asks about a line. */
export interface Onlooker {
  /** Its token; a newcomer without a token comes after everybody. */
  readonly token: bigint
  /** It knows that it is granted. */
  readonly granted: boolean
}

export function raiseValue({ token, weight, beside }: Omit<Raise, 'revision'>): Buffer {
  return Buffer.from(JSON.stringify({ token: String(token), weight, beside: beside === null ? null : String(beside) }))
}

/** A value that can't be read raises nobody: a person has written it. */
export function readRaise(kv: KeyValue | undefined): Raise | null {
  if (kv === undefined) return null
  const text = Buffer.from(kv.value).toString()
  const found = /^\{"token":"(\d+)","weight":(\d+),"beside":(?:null|"(\d+)")\}$/.exec(text)
  if (found === null) return null
  const [, token = '', weight, beside] = found
  return {
    token: BigInt(token),
    weight: Number(weight),
    beside: beside === undefined ? null : BigInt(beside),
    revision: kv.modRevision,
  }
}

/** The weight of a place ahead for an onlooker behind it. */
export function weightFor(
  keys: Keys,
  { key, createRevision }: Pick<KeyValue, 'key' | 'createRevision'>,
  raise: Raise | null,
  onlooker: Onlooker,
): number {
  const entered = keys.weight(Buffer.from(key.buffer, key.byteOffset, key.length).toString())
  return raise !== null && raise.token === createRevision && !isBeside(raise, onlooker) ? raise.weight : entered
}

/**
 * Whether the onlooker was granted before the raise. While that is not known, only an onlooker that knows its grant
 * counts.
 */
function isBeside({ beside, revision }: Raise, { token, granted }: Onlooker): boolean {
  if (beside !== null) return token <= beside
  return granted && token < revision
}

/** The last token granted when the mark was made, from a line that was read in that step or later. */
export function lastBeside(keys: Keys, kvs: readonly KeyValue[], { token, revision }: Raise): bigint {
  const line = kvs
    .toSorted((a, b) => (a.createRevision < b.createRevision ? -1 : 1))
    .flatMap((kv) => {
      const place = keys.read(kv.key)
      return place === null || kv.createRevision >= revision ? [] : [{ ...place, token: kv.createRevision }]
    })
  return holdersOf(line, line[0]?.capacity ?? 0).at(-1)?.token ?? token
}
