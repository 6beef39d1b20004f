/** Giving places up: at once, or with a time that they outlast their owner. */
import type { Entry } from '../../driver.ts'
import type { Batches } from './batches.ts'
import { brokenValue, readPlaceValue } from './place-value.ts'
import type { EtcdClient, KeyValue } from './client/index.ts'
import { findPlaces } from './finding.ts'
import type { Keys } from './keys.ts'
import type { Standing } from './standing.ts'

/** Leaves a place of this process. True: it was there, and now it is gone for certain. */
export async function leavePlace(
  client: EtcdClient,
  batches: Batches,
  standing: Standing,
  timeoutMs: number,
): Promise<boolean> {
  const { entry, token, modRevision } = standing
  const { key } = standing.slot
  if (token === 0n) {
    await client.deleteRange({ key })
    return false
  }
  const compare = [{ target: 'mod', result: '=', key, modRevision }] as const
  const { succeeded } = await batches.send(entry.line, { compare, success: [{ deleteRange: { key } }] }, timeoutMs)
  if (succeeded) return true
  // Gone; or written anew since: broken, and then it may go early; or handed on, and then it is another's.
  const kv = (await client.range({ key })).kvs[0]
  if (kv !== undefined && readPlaceValue(kv.value).id === entry.id) await remove(client, kv)
  return false
}

/** The same, but the place stays for a while. */
export async function outlastPlace(client: EtcdClient, { slot: { key } }: Standing, afterMs: number): Promise<void> {
  await outlast(client, (await client.range({ key })).kvs[0], afterMs)
}

/** Leaves a place that this process knows by its id only. */
export async function leaveById(client: EtcdClient, keys: Keys, entry: Entry, afterMs: number): Promise<void> {
  const [found] = await findPlaces(client, keys, [entry])
  if (found === undefined) return
  if (afterMs > 0) await outlast(client, found.kv, afterMs)
  else await remove(client, found.kv)
}

/** Removes what was seen, unless it has changed since. */
async function remove(client: EtcdClient, { key, modRevision }: KeyValue): Promise<void> {
  const compare = [{ target: 'mod', result: '=', key, modRevision }] as const
  await client.txn({ compare, success: [{ deleteRange: { key } }] })
}

/**
 * Lets a place stand for `afterMs` more; like a broken one, it is renewed by nobody, and it belongs to nobody: were it
 * left a second time it would go early. Nothing happens if it is gone.
 */
async function outlast(client: EtcdClient, kv: KeyValue | undefined, afterMs: number): Promise<void> {
  if (kv === undefined) return
  const { key, modRevision } = kv
  const { id: lease } = await client.lease.grant({ ttlS: Math.ceil(afterMs / 1_000) })
  const { succeeded } = await client.txn({
    compare: [{ target: 'mod', result: '=', key, modRevision }],
    success: [{ put: { key, value: brokenValue({ ...readPlaceValue(kv.value), id: '' }), lease } }],
  })
  if (!succeeded) await client.lease.revoke(lease)
}
