/**
 * Compare-and-set cells: the version is the key's mod revision, which rises for the whole cluster and never starts
 * again.
 */
import type { CellView, Change } from '../../contract/driver.ts'
import { StoreError } from '../../contract/errors.ts'
import type { EtcdClient, KeyValue } from '../../clients/etcd/index.ts'
import type { Keys } from './keys.ts'
import { CELL_TOMBSTONE_MS } from '../shared/tombstones.ts'

/** The value of a cell's key. */
interface Stored {
  readonly nonce: string
  /** null: removed. */
  readonly value: string | null
}

const ABSENT: CellView = Object.freeze({ version: 0n, value: null, nonce: null })

export class Cells {
  readonly #client: EtcdClient
  readonly #keys: Keys

  constructor(client: EtcdClient, keys: Keys) {
    this.#client = client
    this.#keys = keys
  }

  async swap(name: string, change: Change | null): Promise<CellView> {
    const key = this.#keys.cell(name)
    if (change === null) return view((await this.#client.range({ key })).kvs[0])
    const ttlS = change.next === null ? CELL_TOMBSTONE_MS / 1_000 : Math.ceil(change.ttlMs / 1_000)
    const lease = ttlS === 0 ? 0n : (await this.#client.lease.grant({ ttlS })).id
    const cell = await this.#swap(key, change, lease)
    if (lease !== 0n && cell.lease !== lease) await this.#client.lease.revoke(lease)
    return cell.view
  }

  async #swap(
    key: Buffer,
    change: Change,
    lease: bigint,
  ): Promise<{ readonly view: CellView; readonly lease: bigint }> {
    const stored: Stored = { nonce: change.nonce, value: change.next }
    const put = { key, value: Buffer.from(JSON.stringify(stored)), lease }
    for (let modRevision = change.version; ; ) {
      const { succeeded, responses, header } = await this.#client.txn({
        compare: [{ target: 'mod', result: '=', key, modRevision }],
        success: [{ put }],
        failure: [{ range: { key } }],
      })
      if (succeeded) return { view: asView(stored, header.revision), lease }
      const kv = responses[0]?.range?.kvs[0]
      const found = view(kv)
      // Either its own change, repeated; or the cell has another version than the change is for.
      if (found.nonce === change.nonce || found.version !== change.version)
        return { view: found, lease: kv?.lease ?? 0n }
      // The cell is absent, as it should be, but its key remembers a removal: that key must not have changed.
      modRevision = kv?.modRevision ?? 0n
    }
  }
}

function view(kv: KeyValue | undefined): CellView {
  if (kv === undefined) return ABSENT
  return asView(readStored(kv), kv.modRevision)
}

/** Another program may have written the value. */
function readStored({ key, value }: KeyValue): Stored {
  try {
    const stored = JSON.parse(Buffer.from(value).toString()) as Stored
    if (typeof stored.nonce === 'string' && (stored.value === null || typeof stored.value === 'string')) return stored
  } catch (error) {
    if (!(error instanceof SyntaxError || error instanceof TypeError)) throw error
  }
  const name = JSON.stringify(Buffer.from(key).toString())
  throw new StoreError(`etcd: Holdfast did not write what ${name} holds; remove it`)
}

function asView({ nonce, value }: Stored, revision: bigint): CellView {
  return { version: value === null ? 0n : revision, value, nonce }
}
