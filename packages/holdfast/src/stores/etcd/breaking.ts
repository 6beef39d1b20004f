/** Taking places from those who hold them, by whoever breaks a line. */
import type { EtcdClient, KeyValue, RequestOp } from './client/index.ts'
import type { Keys } from './keys.ts'
import { brokenValue, readPlaceValue } from './place-value.ts'
import { splitLine } from './split.ts'

/** Forbids the renewal of the places granted now; with `now` they go at once. Answers how many. */
export async function breakLine(client: EtcdClient, keys: Keys, name: string, now: boolean): Promise<number> {
  const { start, end } = keys.line(name)
  const { kvs } = await client.range({ key: start, rangeEnd: end, sortTarget: 'create', sortOrder: 'ascend' })
  const { holders } = splitLine(keys, kvs)
  const bell: RequestOp[] = [{ put: { key: keys.bell, value: Buffer.from(name) } }]
  const broken = await Promise.all(
    holders.map(({ kv }) => (now ? removeNow(client, kv, bell) : demote(client, kv, bell))),
  )
  return broken.filter((done) => done).length
}

/** The same for a lock that is one key. */
export async function breakKey(client: EtcdClient, key: Buffer, now: boolean): Promise<boolean> {
  const kv = (await client.range({ key })).kvs[0]
  if (kv === undefined) return false
  return now ? removeNow(client, kv, []) : demote(client, kv, [])
}

async function removeNow(
  client: EtcdClient,
  { key, createRevision }: KeyValue,
  bell: readonly RequestOp[],
): Promise<boolean> {
  const compare = [{ target: 'create', result: '=', key, createRevision }] as const
  return (await client.txn({ compare, success: [{ deleteRange: { key } }, ...bell] })).succeeded
}

/**
 * Puts the place on a lease that nobody renews. It keeps its create revision, so it stands where it stood, until that
 * lease lapses: one ttl from now, and its owner believes in it for less, counting from a heartbeat before now.
 */
async function demote(client: EtcdClient, kv: KeyValue, bell: readonly RequestOp[]): Promise<boolean> {
  const value = readPlaceValue(kv.value)
  // Broken before: it must not get another ttl.
  if (value.broken) return true
  const { key, modRevision } = kv
  const { id: lease } = await client.lease.grant({ ttlS: Math.ceil(value.ttlMs / 1_000) + 1 })
  const { succeeded } = await client.txn({
    compare: [{ target: 'mod', result: '=', key, modRevision }],
    success: [{ put: { key, value: brokenValue(value), lease } }, ...bell],
  })
  if (!succeeded) await client.lease.revoke(lease)
  return succeeded
}
