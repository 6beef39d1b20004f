/** Breaks a line: takes places from their holders. */
import { UnsupportedError } from '../../contract/errors.ts'
import type { EtcdClient, KeyValue, RequestOp } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { move, removal } from './leaving.ts'
import { brokenValue, readPlaceValue } from './place-value.ts'
import { readRaise } from './raise.ts'
import { splitLine } from './holders.ts'

/** Forbids the renewal of the places granted now; with `now` they go at once. Returns how many. */
export async function breakLine(client: EtcdClient, keys: Keys, name: string, now: boolean): Promise<number> {
  const { start, end } = keys.line(name)
  const { responses } = await client.txn({
    success: [{ range: { key: start, rangeEnd: end } }, { range: { key: keys.raised(name) } }],
  })
  const kvs = responses[0]?.range?.kvs ?? []
  const raise = readRaise(responses[1]?.range?.kvs[0])
  const { holders } = splitLine(keys, kvs, raise)
  if (!now) for (const { kv } of holders) checkHears(name, kv)
  const bell: RequestOp[] = keys.bell === null ? [] : [{ put: { key: keys.bell, value: Buffer.from(name) } }]
  const broken = await Promise.all(
    holders.map(({ kv }) => {
      const own = raise?.token === kv.createRevision ? raise : null
      if (now) return removeNow(client, kv, [...removal(keys, name, kv, own), ...bell])
      return demote(client, kv, (place) => [...move(keys, name, place, own, kvs), ...bell])
    }),
  )
  return broken.filter((done) => done).length
}

/** The same for a lock that is one key. */
export async function breakKey(client: EtcdClient, name: string, key: Buffer, now: boolean): Promise<boolean> {
  const kv = (await client.range({ key })).kvs[0]
  if (kv === undefined) return false
  if (!now) checkHears(name, kv)
  return now ? removeNow(client, kv, [{ deleteRange: { key } }]) : demote(client, kv, (place) => [{ put: place }])
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

async function removeNow(
  client: EtcdClient,
  { key, createRevision }: KeyValue,
  success: readonly RequestOp[],
): Promise<boolean> {
  const compare = [{ target: 'create', result: '=', key, createRevision }] as const
  return (await client.txn({ compare, success })).succeeded
}

/**
 * Puts the place on a lease that nobody renews. The place keeps its create revision, so it stays where it is in the
 * line until that lease lapses: one ttl from now. Its owner trusts it for less, because the owner counts from a
 * heartbeat before now.
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
