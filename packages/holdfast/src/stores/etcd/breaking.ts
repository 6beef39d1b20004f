/** Breaks a line: takes places from their holders. */
import { UnsupportedError } from '../../contract/errors.ts'
import type { EtcdClient, KeyValue, RequestOp } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { move, removal } from './leaving.ts'
import { brokenValue, readPlaceValue } from './place-value.ts'
import { type Raise, readRaise } from './raise.ts'
import { splitLine } from './holders.ts'

/** A line as of one revision. */
interface SeenLine {
  readonly kvs: readonly KeyValue[]
  /** The raise of the place that is heavier than when it entered. */
  readonly raise: Raise | null
}

/** What a transaction needs to take a place from its holder. */
type Taking = (kv: KeyValue, seen: SeenLine) => Promise<boolean>

/** Forbids the renewal of the places granted now; with `now` they go at once. Returns how many. */
export async function breakLine(client: EtcdClient, keys: Keys, name: string, now: boolean): Promise<number> {
  const { start, end } = keys.line(name)
  const look = async (): Promise<SeenLine> => {
    const { responses } = await client.txn({
      success: [{ range: { key: start, rangeEnd: end } }, { range: { key: keys.raised(name) } }],
    })
    return { kvs: responses[0]?.range?.kvs ?? [], raise: readRaise(responses[1]?.range?.kvs[0]) }
  }
  const line = await look()
  const { holders } = splitLine(keys, line.kvs, line.raise)
  if (!now) for (const { kv } of holders) checkHears(name, kv)
  const bell: RequestOp[] = keys.bell === null ? [] : [{ put: { key: keys.bell, value: Buffer.from(name) } }]
  const taking: Taking = (kv, { kvs, raise }) => {
    const own = raise?.token === kv.createRevision ? raise : null
    if (now) return removeNow(client, kv, [...removal(keys, name, kv, own), ...bell])
    return demote(client, kv, (place) => [...move(keys, name, place, own, kvs), ...bell])
  }
  const broken = await Promise.all(holders.map(({ kv }) => take(kv, line, look, taking)))
  return broken.filter((done) => done).length
}

/** The same for a lock that is one key. */
export async function breakKey(client: EtcdClient, name: string, key: Buffer, now: boolean): Promise<boolean> {
  const look = async (): Promise<SeenLine> => ({ kvs: (await client.range({ key })).kvs, raise: null })
  const line = await look()
  const kv = line.kvs[0]
  if (kv === undefined) return false
  if (!now) checkHears(name, kv)
  return take(kv, line, look, (at) =>
    now ? removeNow(client, at, [{ deleteRange: { key } }]) : demote(client, at, (place) => [{ put: place }]),
  )
}

/**
 * Takes a place, whatever its revision is by now. False: it is gone. Each further turn means that somebody else has
 * written the place. Schedule: the line is read; the holder upgrades, or exports its hold; the place is not as it was
 * read. If this took that for "gone", nobody would be broken, and whoever asked for the break would hear of no holder.
 */
async function take(
  { createRevision }: KeyValue,
  line: SeenLine,
  look: () => Promise<SeenLine>,
  taking: Taking,
): Promise<boolean> {
  for (let seen = line; ; seen = await look()) {
    const kv = seen.kvs.find((other) => other.createRevision === createRevision)
    if (kv === undefined) return false
    if (await taking(kv, seen)) return true
  }
}

/**
 * A holder of ours that hears of the break waits for its own deadline, and the next waiter is served after it. A holder
 * of another program (`etcdctl lock`, etcd's Go library) looks only at its lease, which lives on: it would still hold
 * when the next is served.
 */
function checkHears(name: string, { value }: KeyValue): void {
  const { id, broken } = readPlaceValue(value)
  if (id !== '' || broken) return
  throw new UnsupportedError(
    `lock ${JSON.stringify(name)} is held by a program that is not Holdfast and can't be told to stop; ` +
      'end that program, or break with now, after which it and the next holder may act at the same time',
    { line: name },
  )
}

/** False: the place has changed since it was read. */
async function removeNow(
  client: EtcdClient,
  { key, modRevision }: KeyValue,
  success: readonly RequestOp[],
): Promise<boolean> {
  const compare = [{ target: 'mod', result: '=', key, modRevision }] as const
  return (await client.txn({ compare, success })).succeeded
}

/**
 * Puts the place on a lease that nobody renews. The place keeps its create revision, so it stays where it is in the
 * line until that lease lapses: one ttl from now. Its owner trusts it for less, because the owner counts from a
 * heartbeat before now. False: the place has changed since it was read. Then it may have been renewed since this lease
 * was granted, so the next turn grants another.
 */
async function demote(
  client: EtcdClient,
  kv: KeyValue,
  put: (place: Pick<KeyValue, 'key' | 'value' | 'lease'>) => readonly RequestOp[],
): Promise<boolean> {
  const value = readPlaceValue(kv.value)
  // The place was broken before: it must not get another ttl.
  if (value.broken) return true
  const { key, modRevision } = kv
  const { id: lease } = await client.lease.grant({ ttlS: Math.ceil(value.ttlMs / 1_000) + 1 })
  const { succeeded } = await client.txn({
    compare: [{ target: 'mod', result: '=', key, modRevision }],
    success: put({ key, value: brokenValue(value), lease }),
  })
  if (!succeeded) await client.lease.revoke(lease)
  return succeeded
}
