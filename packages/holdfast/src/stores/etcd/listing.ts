/** The lines as people see them. */
import type { Runtime } from '../../contract/runtime.ts'
import type { LineView, PlaceView } from '../../contract/driver.ts'
import { placeView } from '../view.ts'
import type { EtcdClient, KeyValue } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { readPlaceValue } from './place-value.ts'
import { type Raise, readRaise } from './raise.ts'
import { type Found, splitLine } from './holders.ts'

/** Keys in one answer: lines are read in parts, all as of the same revision. */
const PART = 1_000
/** How many leases are asked about at once. */
const ASKS = 32

type Clock = Pick<Runtime, 'wallNow'>

export async function* listLines(
  client: EtcdClient,
  keys: Keys,
  clock: Clock,
  prefix: string,
): AsyncGenerator<LineView> {
  for await (const { kvs, raises } of lines(client, keys, prefix)) {
    const name = keys.read((kvs[0] as KeyValue).key)?.name
    if (name === undefined || !name.startsWith(prefix)) continue
    const { capacity, holders, waiters } = splitLine(keys, kvs, raises.get(keys.raised(name).toString()) ?? null)
    const leftMs = await timesLeft(client, new Set(kvs.map(({ lease }) => lease)))
    const show = ({ kv, weight }: Found): PlaceView => {
      const { at, data } = readPlaceValue(kv.value)
      const times = { ageMs: clock.wallNow() - at, leftMs: leftMs.get(kv.lease) ?? 0 }
      return placeView({ token: kv.createRevision, weight, data }, times)
    }
    yield { name, capacity, holders: holders.map(show), waiters: waiters.map(show) }
  }
}

interface ReadLine {
  readonly kvs: readonly KeyValue[]
  /** The raised places of all lines, by key. */
  readonly raises: ReadonlyMap<string, Raise>
}

/** The keys of each line whose name begins with the prefix; the keys of a line come together. */
async function* lines(client: EtcdClient, keys: Keys, prefix: string): AsyncGenerator<ReadLine> {
  const { start, end } = keys.lines(prefix)
  let key: Uint8Array = start
  let revision = 0n
  let line: KeyValue[] = []
  let raises: ReadonlyMap<string, Raise> = new Map()
  for (let more = true; more; ) {
    const part = await client.range({ key, rangeEnd: end, limit: PART, revision })
    if (revision === 0n) {
      revision = part.header.revision
      raises = await raisesOf(client, keys, prefix, revision)
    }
    for (const kv of part.kvs) {
      const last = line.at(-1)
      if (last !== undefined && keys.read(last.key)?.name !== keys.read(kv.key)?.name) {
        yield { kvs: line, raises }
        line = []
      }
      line.push(kv)
    }
    const last = part.kvs.at(-1)
    more = part.more && last !== undefined
    if (last !== undefined) key = Buffer.concat([last.key, Buffer.of(0)])
  }
  if (line.length > 0) yield { kvs: line, raises }
}

async function raisesOf(
  client: EtcdClient,
  keys: Keys,
  prefix: string,
  revision: bigint,
): Promise<ReadonlyMap<string, Raise>> {
  const { start, end } = keys.raisedLines(prefix)
  const { kvs } = await client.range({ key: start, rangeEnd: end, revision })
  const raises = new Map<string, Raise>()
  for (const kv of kvs) {
    const raise = readRaise(kv)
    if (raise !== null) raises.set(Buffer.from(kv.key).toString(), raise)
  }
  return raises
}

/** Milliseconds left of each lease. */
export async function timesLeft(client: EtcdClient, leases: ReadonlySet<bigint>): Promise<Map<bigint, number>> {
  const all = [...leases].filter((id) => id !== 0n)
  const left = new Map<bigint, number>()
  for (let at = 0; at < all.length; at += ASKS) {
    const answers = await Promise.all(all.slice(at, at + ASKS).map((id) => client.lease.timeToLive({ id })))
    // Whole seconds, rounded down: the lease has at least this long.
    for (const { id, ttlS } of answers) left.set(id, Math.max(ttlS, 0) * 1_000)
  }
  return left
}
