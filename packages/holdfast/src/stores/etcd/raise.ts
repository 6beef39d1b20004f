/**
 * A place that has become heavier than it was entered. Its key names the weight that it was entered with, so the new
 * one stands in a key beside the line, on the same lease; there is one at most in a line.
 *
 * Whoever was granted before stays granted, and the raised place waits for them. So it is written in two steps: first a
 * mark, from which on nobody is newly granted, and with it the line is read as of that very step; then `beside`, the
 * last token of those that were granted then. Grants are a prefix of the line that only grows while nobody gets
 * heavier: whoever was granted before the mark, and lives, is in it.
 */
import type { KeyValue } from '../../clients/etcd/index.ts'
import { holdersOf } from '../shared/holders.ts'
import type { Keys } from './keys.ts'

export interface Raise {
  /** The place. */
  readonly token: bigint
  /** What it weighs for those that it was not granted beside. */
  readonly weight: number
  /** The last token that was granted when it became heavier; null: not known yet. */
  readonly beside: bigint | null
  /** The revision of the last step. */
  readonly revision: bigint
}

/** Whoever asks about a line. */
export interface Onlooker {
  /** Its token; one that has none yet comes after everybody. */
  readonly token: bigint
  /** It knows that it is granted. */
  readonly granted: boolean
}

export function raiseValue({ token, weight, beside }: Omit<Raise, 'revision'>): Buffer {
  return Buffer.from(JSON.stringify({ token: String(token), weight, beside: beside === null ? null : String(beside) }))
}

/** What can't be read raises nobody: it was written by hand. */
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

/** What a place in front weighs for an onlooker behind it. */
export function weightFor(
  keys: Keys,
  { key, createRevision }: Pick<KeyValue, 'key' | 'createRevision'>,
  raise: Raise | null,
  onlooker: Onlooker,
): number {
  const entered = keys.weight(Buffer.from(key.buffer, key.byteOffset, key.length).toString())
  return raise !== null && raise.token === createRevision && !isBeside(raise, onlooker) ? raise.weight : entered
}

/** Granted before the raise; while nobody knows, only who has been told so is. */
function isBeside({ beside, revision }: Raise, { token, granted }: Onlooker): boolean {
  if (beside !== null) return token <= beside
  return granted && token < revision
}

/** The last that was granted when the mark was made, of a line that was read in that step or later. */
export function lastBeside(keys: Keys, kvs: readonly KeyValue[], { token, revision }: Raise): bigint {
  const line = kvs
    .toSorted((a, b) => (a.createRevision < b.createRevision ? -1 : 1))
    .flatMap((kv) => {
      const place = keys.read(kv.key)
      return place === null || kv.createRevision >= revision ? [] : [{ ...place, token: kv.createRevision }]
    })
  return holdersOf(line, line[0]?.capacity ?? 0).at(-1)?.token ?? token
}
