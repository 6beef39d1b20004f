/** What we ask etcd about a line, and what its answers mean. */
import { StoreError } from '../../contract/errors.ts'
import { type Entry, isGranted } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'
import type {
  Compare,
  KeyValue,
  RangeRequest,
  RequestOp,
  ResponseOp,
  TxnRequest,
  TxnResponse,
} from '../../clients/etcd/index.ts'
import type { Keys, LineKeys } from './keys.ts'
import type { Lease } from './lease.ts'
import { type Onlooker, type Raise, readRaise, weightFor } from './raise.ts'
import type { OwnPlace } from './places.ts'

/** Where a place stands, as of one revision. */
export interface Sight {
  readonly token: bigint
  /** The lease that the place is on. */
  readonly leaseId: bigint
  readonly ahead: number
  /** How many of the places ahead were seen; there may be more. */
  readonly front: number
  readonly wanted: boolean
  /** The nearest places ahead that together keep this place out: while all of them stand, it can't be granted. */
  readonly blockers: readonly string[]
  /** No place is ahead of those: when one of them goes, it may be this place's turn. */
  readonly isNext: boolean
  readonly revision: bigint
  /** Set if the place is heavier than when it entered. */
  readonly raise: Raise | null
}

/** No place was put. */
export interface Refusal {
  /** The place exists already. */
  readonly isThere: boolean
  /** Names one of the places in the line, if there is any. */
  readonly other: ResponseOp | undefined
}

type Share = Pick<Entry, 'weight' | 'capacity'>

/** A place as it was when the question was sent: it may change before the answer comes. */
export type Asked = Readonly<Pick<OwnPlace, 'entry' | 'slot' | 'token' | 'granted' | 'raise'>>

/** Whoever weighs the places ahead. */
interface Weigher extends Share, Onlooker {}

/** The operations that etcd takes in a transaction. */
export const OPS_PER_TXN = 128
/** The most operations for one place. */
const OPS_PER_LOOK = 3
export const LOOKS_PER_TXN: number = Math.floor(OPS_PER_TXN / OPS_PER_LOOK)

/** Comes after everybody. */
const NEWCOMER: Onlooker = { token: 2n ** 63n, granted: false }

export class Look {
  readonly #keys: Keys

  constructor(keys: Keys) {
    this.#keys = keys
  }

  /**
   * Joins the line if it is empty: a compare and a put, no more than a bare key would take. A caller that does not want
   * to wait behind others asks for the reason of a failure in the same request.
   */
  aloneTxn({ slot: { line, key } }: OwnPlace, lease: Lease, value: Buffer, asksWhy: boolean): TxnRequest {
    const compare = [absent(line.start, line.end)]
    const success = [{ put: { key, value, lease: lease.id } }]
    return asksWhy ? { compare, success, failure: [ownKey(key), anybody(line)] } : { compare, success }
  }

  /** Joins the line behind all others, in one step with the look ahead, unless the line has another capacity. */
  behindTxn({ entry, slot: { line, bounds, key } }: OwnPlace, lease: Lease, value: Buffer): TxnRequest {
    const compare = [absent(key)]
    if (bounds !== null) compare.push(absent(line.start, bounds.start), absent(bounds.end, line.end))
    return {
      compare,
      // The key that was put in this step is the newest of all: it comes first, before the nearest ahead.
      success: [{ put: { key, value, lease: lease.id } }, nearest(line, entry, {}, 1), ...this.#raiseOps(entry)],
      failure: [ownKey(key), anybody(line)],
    }
  }

  /** The answer to either: where the new place stands; or, if none was put, who stands there. */
  entered({ entry }: OwnPlace, lease: Lease, { succeeded, responses, header }: TxnResponse): Sight | Refusal {
    if (!succeeded) return { isThere: found(responses[0]).length > 0, other: responses[1] }
    const { revision } = header
    const front = found(responses[1]).filter((kv) => kv.createRevision < revision)
    const raise = readRaise(found(responses[2])[0])
    const weighed = this.#weigh({ ...NEWCOMER, weight: entry.weight, capacity: entry.capacity }, front, raise)
    return { token: revision, leaseId: lease.id, wanted: false, revision, raise: null, ...weighed }
  }

  /** Refuses a line that others use with another capacity; `response` names one of its places. */
  checkCapacity(entry: Entry, response: ResponseOp | undefined): void {
    const [kv] = found(response)
    if (kv === undefined) return
    const capacity = this.#keys.read(kv.key)?.capacity
    if (capacity === entry.capacity) return
    if (capacity !== undefined) throw capacityError(entry, capacity)
    throw new StoreError(
      `etcd: a key that Holdfast did not write stands in the queue of lock ${JSON.stringify(entry.line)}`,
    )
  }

  /**
   * For each place: its own key, and the nearest ahead. A raised place also asks for the places granted beside it. A
   * granted place also asks for the whole line if others may be granted beside it: places that don't fit wait.
   */
  lookTxn(asked: readonly Asked[]): TxnRequest {
    return {
      success: asked.flatMap((place) => {
        const { entry, slot, token, raise } = place
        const { line, key } = slot
        const front =
          raise !== null
            ? nearest(line, { ...entry, weight: raise.weight }, { maxCreateRevision: raise.beside ?? token }, 1)
            : asksForAll(place)
              ? newest(line, {}, entry.capacity + 1)
              : nearest(line, entry, { maxCreateRevision: token - 1n })
        return [ownKey(key), front, ...this.#raiseOps(entry)]
      }),
    }
  }

  /** What the answer says about each place, as it was when the question was sent; null: it is gone. */
  sights(asked: readonly Asked[], { responses, header: { revision } }: TxnResponse): (Sight | null)[] {
    let at = 0
    return asked.map((place) => {
      const [own, ahead] = responses.slice(at, at + 2)
      at += 2
      const raise = isLight(place.entry) ? null : readRaise(found(responses[at++])[0])
      return this.#sight(place, own, ahead, raise, revision)
    })
  }

  #sight(
    asked: Asked,
    own: ResponseOp | undefined,
    ahead: ResponseOp | undefined,
    raise: Raise | null,
    revision: bigint,
  ): Sight | null {
    const { entry, token, granted } = asked
    const [mine] = found(own)
    if (mine === undefined || mine.createRevision !== token) return null
    const isRaised = raise?.token === token
    const isWhole = asked.raise === null && asksForAll(asked)
    const others = found(ahead).filter(({ createRevision }) => createRevision !== token)
    const front = isWhole ? others.filter(({ createRevision }) => createRevision < token) : others
    const wanted = raise !== null || (isWhole ? this.#isFull(entry, ahead) : hasMore(ahead, front.length + 1))
    const weight = isRaised ? raise.weight : entry.weight
    const weighed = this.#weigh({ token, granted, weight, capacity: entry.capacity }, front, raise)
    const sight = { token, leaseId: mine.lease, wanted, revision, raise: isRaised ? raise : null, ...weighed }
    // Nobody knows yet who was granted beside it, so it may not be alone.
    return isRaised && raise.beside === null ? { ...sight, ahead: Math.max(sight.ahead, 1) } : sight
  }

  /** The places of the line weigh more than it has room for: the last of them waits. */
  #isFull({ capacity }: Share, whole: ResponseOp | undefined): boolean {
    if (hasMore(whole, found(whole).length)) return true
    let used = 0
    for (const { key } of found(whole)) {
      used += this.#keys.weight(Buffer.from(key.buffer, key.byteOffset, key.length).toString())
    }
    return used > capacity
  }

  /** Asks whether there is room, for a caller that only asks: all places of the line are ahead. */
  roomOps(entry: Entry): RequestOp[] {
    const line = this.#keys.line(entry.line)
    return [nearest(line, entry), anybody(line), ...this.#raiseOps(entry)]
  }

  /** For each entry: the weight ahead of a place that would enter now; null: there is no room. */
  rooms(entries: readonly Entry[], responses: readonly ResponseOp[]): (number | null)[] {
    let at = 0
    return entries.map((entry) => {
      const [front, one] = responses.slice(at, at + 2)
      at += 2
      this.checkCapacity(entry, one)
      const raise = isLight(entry) ? null : readRaise(found(responses[at++])[0])
      const { ahead } = this.#weigh(
        { ...NEWCOMER, weight: entry.weight, capacity: entry.capacity },
        found(front),
        raise,
      )
      return isGranted(entry, { ahead }) ? ahead : null
    })
  }

  /** Reads the key that says which place of this line is raised. */
  #raiseOps(entry: Entry): RequestOp[] {
    return isLight(entry) ? [] : [{ range: { key: this.#keys.raised(entry.line) } }]
  }

  #weigh(
    weigher: Weigher,
    front: readonly KeyValue[],
    raise: Raise | null,
  ): Pick<Sight, 'ahead' | 'front' | 'blockers' | 'isNext'> {
    const blockers: string[] = []
    let ahead = 0
    for (const kv of front) {
      ahead += weightFor(this.#keys, kv, raise, weigher)
      blockers.push(Buffer.from(kv.key.buffer, kv.key.byteOffset, kv.key.length).toString())
      if (!isGranted(weigher, { ahead })) {
        return { ahead, front: front.length, blockers, isNext: blockers.length === front.length }
      }
    }
    return { ahead, front: front.length, blockers: [], isNext: false }
  }
}

/** True for a granted place beside which others may be granted: a place behind it need not wait. */
function asksForAll({ entry, granted }: Asked): boolean {
  return granted && entry.weight < entry.capacity
}

/** True if the line has more places than these; etcd counts all of its keys, whatever was asked for. */
function hasMore(response: ResponseOp | undefined, count: number): boolean {
  return response?.range?.more === true || (response?.range?.count ?? 0) > count
}

/** In a line of capacity 1 no place can get heavier. */
function isLight({ capacity }: Pick<Entry, 'capacity'>): boolean {
  return capacity === 1
}

/** Absent, for one key or a whole range: no key has a create revision of 0. */
export function absent(key: Uint8Array, rangeEnd?: Uint8Array): Compare {
  const compare: Compare = { target: 'create', result: '=', key, createRevision: 0n }
  return rangeEnd === undefined ? compare : { ...compare, rangeEnd }
}

const ownKey = (key: Uint8Array): RequestOp => ({ range: { key, keysOnly: true } })

/**
 * The nearest ahead, nearest first. So many always decide: each weighs at least 1, and if more are ahead than would
 * leave room, their number alone keeps the place out. One more tells whether the place is next.
 */
function nearest(line: LineKeys, share: Share, bound: Partial<RangeRequest> = {}, extra = 0): RequestOp {
  return newest(line, bound, share.capacity - share.weight + 2 + extra)
}

function newest({ start, end }: LineKeys, bound: Partial<RangeRequest>, limit: number): RequestOp {
  const order = { sortTarget: 'create', sortOrder: 'descend' } as const
  return { range: { key: start, rangeEnd: end, keysOnly: true, limit, ...order, ...bound } }
}

/** Any one place of the line, because all have the same capacity. To find the oldest, etcd would read them all. */
function anybody({ start, end }: LineKeys): RequestOp {
  return { range: { key: start, rangeEnd: end, keysOnly: true, limit: 1 } }
}

function found(response: ResponseOp | undefined): readonly KeyValue[] {
  return response?.range?.kvs ?? []
}
