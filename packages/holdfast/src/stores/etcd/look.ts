/** What is asked of etcd about a line, and what its answers mean. */
import { CapacityMismatchError, StoreError } from '../../core/errors.ts'
import { type Entry, isGranted } from '../../driver.ts'
import type { Compare, KeyValue, RangeRequest, RequestOp, ResponseOp, TxnRequest, TxnResponse } from './client/index.ts'
import type { Keys, LineKeys } from './keys.ts'
import type { Lease } from './lease.ts'
import type { Standing } from './standing.ts'

/** Where a place stands, as of one revision. */
export interface Sight {
  readonly token: bigint
  /** The lease that the place hangs on. */
  readonly leaseId: bigint
  readonly ahead: number
  /** How many of those in front were seen; there may be more. */
  readonly front: number
  readonly wanted: boolean
  /** The nearest places in front that together keep it out: while all of them stand, it can't be granted. */
  readonly blockers: readonly string[]
  /** Nobody is in front of those: when one of them goes, it may be this one's turn. */
  readonly isNext: boolean
  readonly revision: bigint
}

/** No place was put. */
export interface Refusal {
  /** The place exists already. */
  readonly isThere: boolean
  /** Names one of the places in the line, if there is any. */
  readonly other: ResponseOp | undefined
}

type Share = Pick<Entry, 'weight' | 'capacity'>

/** What is asked about one place; etcd takes 128 operations in a transaction. */
const OPS_PER_LOOK = 2
/** What is asked about one line. */
export const OPS_PER_ROOM = 2
export const LOOKS_PER_TXN: number = Math.floor(128 / OPS_PER_LOOK)

export class Look {
  readonly #keys: Keys

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /**
   * Joins the line if nobody stands there: a compare and a put, no more than a bare key would take. Who would not go
   * behind others asks why, if it failed.
   */
  aloneTxn({ slot: { line, key } }: Standing, lease: Lease, value: Buffer, asksWhy: boolean): TxnRequest {
    const compare = [absent(line.start, line.end)]
    const success = [{ put: { key, value, lease: lease.id } }]
    return asksWhy ? { compare, success, failure: [ownKey(key), anybody(line)] } : { compare, success }
  }

  /** Joins the line behind all who stand there, in one step with the look in front, unless it has another capacity. */
  behindTxn({ entry, slot: { line, bounds, key } }: Standing, lease: Lease, value: Buffer): TxnRequest {
    const compare = [absent(key)]
    if (bounds !== null) compare.push(absent(line.start, bounds.start), absent(bounds.end, line.end))
    return {
      compare,
      // What was put in the same step is the newest of all: it comes first, before the nearest in front.
      success: [{ put: { key, value, lease: lease.id } }, nearest(line, entry, {}, 1)],
      failure: [ownKey(key), anybody(line)],
    }
  }

  /** What the answer to either says: where the place that was put stands; or, if none was put, who stands there. */
  entered({ entry }: Standing, lease: Lease, { succeeded, responses, header }: TxnResponse): Sight | Refusal {
    if (!succeeded) return { isThere: found(responses[0]).length > 0, other: responses[1] }
    const { revision } = header
    const front = found(responses[1]).filter((kv) => kv.createRevision < revision)
    return { token: revision, leaseId: lease.id, wanted: false, revision, ...this.#weigh(entry, front) }
  }

  /** Refuses a line that others use with another capacity; `response` names one of its places. */
  checkCapacity(entry: Entry, response: ResponseOp | undefined): void {
    const [kv] = found(response)
    if (kv === undefined) return
    const capacity = this.#keys.read(kv.key)?.capacity
    if (capacity === entry.capacity) return
    const line = JSON.stringify(entry.line)
    if (capacity === undefined) throw new StoreError(`etcd: a key that is none of Holdfast's stands in line ${line}`)
    throw new CapacityMismatchError(
      `line ${line} has capacity ${capacity} while it is in use, asked for ${entry.capacity}`,
      { line: entry.line },
    )
  }

  /** For each place: its own key, and the nearest in front. */
  lookTxn(standings: readonly Standing[]): TxnRequest {
    return {
      success: standings.flatMap(({ entry, slot: { line, key }, token }) => [
        ownKey(key),
        nearest(line, entry, { maxCreateRevision: token - 1n }),
      ]),
    }
  }

  /** What the answer says of the place that was asked about as number `at`; null: it is gone. */
  sight({ entry, token }: Standing, at: number, { responses, header: { revision } }: TxnResponse): Sight | null {
    const [own, ahead] = responses.slice(at * OPS_PER_LOOK, (at + 1) * OPS_PER_LOOK)
    const [mine] = found(own)
    if (mine === undefined || mine.createRevision !== token) return null
    const front = found(ahead)
    // The count is of all keys in the line. Those in front may be more than were asked for: then it is blocked, and who
    // stands behind a place that is blocked is nobody's concern.
    const wanted = ahead?.range?.more !== true && (ahead?.range?.count ?? 0) > front.length + 1
    return { token, leaseId: mine.lease, wanted, revision, ...this.#weigh(entry, front) }
  }

  /** Asks whether there is room, for one who only asks: all who stand in the line are in front. */
  roomOps(entry: Entry): RequestOp[] {
    const line = this.#keys.line(entry.line)
    return [nearest(line, entry), anybody(line)]
  }

  /** The weight in front of one who would enter now; null: there is no room. */
  room(entry: Entry, responses: readonly ResponseOp[]): number | null {
    this.checkCapacity(entry, responses[1])
    const { ahead } = this.#weigh(entry, found(responses[0]))
    return isGranted(entry, { ahead }) ? ahead : null
  }

  #weigh(share: Share, front: readonly KeyValue[]): Pick<Sight, 'ahead' | 'front' | 'blockers' | 'isNext'> {
    const blockers: string[] = []
    let ahead = 0
    for (const { key } of front) {
      const text = Buffer.from(key.buffer, key.byteOffset, key.length).toString()
      ahead += this.#keys.weight(text)
      blockers.push(text)
      if (!isGranted(share, { ahead })) {
        return { ahead, front: front.length, blockers, isNext: blockers.length === front.length }
      }
    }
    return { ahead, front: front.length, blockers: [], isNext: false }
  }
}

/** Absent, for one key or a whole range: no key has a create revision, which is never 0. */
export function absent(key: Uint8Array, rangeEnd?: Uint8Array): Compare {
  const compare: Compare = { target: 'create', result: '=', key, createRevision: 0n }
  return rangeEnd === undefined ? compare : { ...compare, rangeEnd }
}

const ownKey = (key: Uint8Array): RequestOp => ({ range: { key, keysOnly: true } })

/**
 * The nearest in front come first. So many always decide: each weighs at least 1, and if there are more in front than
 * would leave room, their number alone keeps it out. One more tells whether it is next.
 */
function nearest(line: LineKeys, share: Share, bound: Partial<RangeRequest> = {}, extra = 0): RequestOp {
  return newest(line, bound, share.capacity - share.weight + 2 + extra)
}

function newest({ start, end }: LineKeys, bound: Partial<RangeRequest>, limit: number): RequestOp {
  const order = { sortTarget: 'create', sortOrder: 'descend' } as const
  return { range: { key: start, rangeEnd: end, keysOnly: true, limit, ...order, ...bound } }
}

/** One of those in the line: they all have the same capacity. To ask for the oldest would have etcd read them all. */
function anybody({ start, end }: LineKeys): RequestOp {
  return { range: { key: start, rangeEnd: end, keysOnly: true, limit: 1 } }
}

function found(response: ResponseOp | undefined): readonly KeyValue[] {
  return response?.range?.kvs ?? []
}
