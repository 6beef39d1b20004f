/** Gives places up: at once, or so that they outlast their owner for a time. */
import type { Entry } from '../../contract/driver.ts'
import type { Batches } from './batch.ts'
import { brokenValue, readPlaceValue } from './place-value.ts'
import type { EtcdClient, KeyValue, RequestOp } from '../../clients/etcd/index.ts'
import { findPlaces } from './finding.ts'
import type { Keys } from './keys.ts'
import { lastBeside, type Raise, raiseValue, readRaise } from './raise.ts'
import type { OwnPlace } from './places.ts'

/** Leaves a place of this process. True: it was there, and now it is gone for certain. */
export async function leavePlace(
  client: EtcdClient,
  keys: Keys,
  batches: Batches,
  standing: OwnPlace,
  timeoutMs: number,
): Promise<boolean> {
  const { entry, token, modRevision, raise } = standing
  const { key } = standing.slot
  if (token !== 0n) {
    const compare = [{ target: 'mod', result: '=', key, modRevision }] as const
    const { succeeded } =
      raise === null
        ? await batches.leave(standing, { compare, success: [{ deleteRange: { key } }] }, timeoutMs)
        : await batches.send(entry.line, { compare, success: removal(keys, entry.line, { key }, raise) }, timeoutMs)
    if (succeeded) return true
  }
  // The place is gone; or an unanswered request of its own has written it anew; or it was broken; or it was handed on,
  // and now belongs to another.
  await removeOwn(client, keys, entry, key)
  return false
}

/** The same, but the place stays for a while. */
export async function outlastPlace(
  client: EtcdClient,
  keys: Keys,
  { entry, slot: { key } }: OwnPlace,
  afterMs: number,
): Promise<void> {
  await outlast(client, keys, entry, key, afterMs)
}

/** Leaves a place of which this process knows only the id. */
export async function leaveById(client: EtcdClient, keys: Keys, entry: Entry, afterMs: number): Promise<void> {
  const [found] = await findPlaces(client, keys, [entry])
  if (found === undefined) return
  if (afterMs === 0) await removeOwn(client, keys, entry, found.kv.key)
  else await outlast(client, keys, entry, found.kv.key, afterMs)
}

/** What goes together with a place. */
export function removal(keys: Keys, line: string, { key }: Pick<KeyValue, 'key'>, raise: Raise | null): RequestOp[] {
  const place: RequestOp = { deleteRange: { key } }
  return raise === null ? [place] : [place, { deleteRange: { key: keys.raised(line) } }]
}

/** Puts a place on another lease, and with it the key that makes it heavier; `kvs` is the line, if it is known. */
export function move(
  keys: Keys,
  line: string,
  { key, value, lease }: Pick<KeyValue, 'key' | 'value' | 'lease'>,
  raise: Raise | null,
  kvs: readonly KeyValue[] | null,
): RequestOp[] {
  const place: RequestOp = { put: { key, value, lease } }
  if (raise === null) return [place]
  const beside = raise.beside ?? (kvs === null ? null : lastBeside(keys, kvs, raise))
  return [place, { put: { key: keys.raised(line), value: raiseValue({ ...raise, beside }), lease } }]
}

/** The key as it is, and the key that makes that place heavier. */
async function see(
  client: EtcdClient,
  keys: Keys,
  { line, capacity }: Entry,
  key: Uint8Array,
): Promise<{ readonly kv: KeyValue | undefined; readonly raise: Raise | null }> {
  const mark: RequestOp[] = capacity === 1 ? [] : [{ range: { key: keys.raised(line) } }]
  const { responses } = await client.txn({ success: [{ range: { key } }, ...mark] })
  const [kv, marked] = responses.map(({ range }) => range?.kvs[0])
  const raise = readRaise(marked)
  return { kv, raise: raise !== null && raise.token === kv?.createRevision ? raise : null }
}

/**
 * Removes the place of this entry, whatever its revision is by now. A broken place stays: it counts until its lease has
 * run out, because its holder's work may still go on.
 */
async function removeOwn(client: EtcdClient, keys: Keys, entry: Entry, key: Uint8Array): Promise<void> {
  for (;;) {
    const { kv, raise } = await see(client, keys, entry, key)
    if (kv === undefined) return
    const { id, broken } = readPlaceValue(kv.value)
    if (id !== entry.id || broken) return
    const compare = [{ target: 'mod', result: '=', key, modRevision: kv.modRevision }] as const
    if ((await client.txn({ compare, success: removal(keys, entry.line, kv, raise) })).succeeded) return
  }
}

/**
 * Lets a place stand for `afterMs` more. As with a broken place, nobody renews it and nobody owns it: if its owner left
 * it a second time, it would go early. Does nothing if the place is gone, was broken, or belongs to another.
 *
 * Each further turn means that somebody else has written the place. Schedule: an upgrade of this hold is on its way;
 * the hold is released, and this reads the place; the upgrade writes it. If this took that for "gone", the place would
 * stay on the lease that other holds keep alive, and its line would stand still for as long as they live.
 */
async function outlast(client: EtcdClient, keys: Keys, entry: Entry, key: Uint8Array, afterMs: number): Promise<void> {
  for (let lease: bigint | null = null; ; ) {
    const { kv, raise } = await see(client, keys, entry, key)
    const place = kv === undefined ? null : readPlaceValue(kv.value)
    if (kv === undefined || place?.id !== entry.id || place.broken) {
      if (lease !== null) await client.lease.revoke(lease)
      return
    }
    lease ??= (await client.lease.grant({ ttlS: Math.ceil(afterMs / 1_000) })).id
    const value = brokenValue({ ...place, id: '' })
    const { succeeded } = await client.txn({
      compare: [{ target: 'mod', result: '=', key, modRevision: kv.modRevision }],
      success: move(keys, entry.line, { key, value, lease }, raise, null),
    })
    if (succeeded) return
  }
}
