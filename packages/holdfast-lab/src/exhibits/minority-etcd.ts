/** One of three etcd members is cut off: it must grant nothing, and its holder must know in time. */
import type { EtcdClient } from 'holdfast/internal'
import { addresses, etcdClient, etcdEnsemble } from '../lab/ensembles.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { minorityActs, type Side } from '../lab/minority.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 3_000
const PATIENCE_MS = 1_500

const bytes = (text: string): Buffer => Buffer.from(`lab/${text}`)

/** The recipe of the course: IF create_revision = 0 THEN put. */
function side(client: EtcdClient): Side {
  return {
    async take(key, owner) {
      const compare = [{ target: 'create', result: '=', key: bytes(key), createRevision: 0n } as const]
      const { succeeded } = await client.txn({
        compare,
        success: [{ put: { key: bytes(key), value: Buffer.from(owner) } }],
      })
      return succeeded
    },
    async pass(key, owner) {
      await client.put({ key: bytes(key), value: Buffer.from(owner) })
    },
    async look(key) {
      const { kvs } = await client.range({ key: bytes(key), serializable: true })
      return Buffer.from(kvs[0]?.value ?? '').toString()
    },
  }
}

async function run(stage: Stage): Promise<readonly Act[]> {
  const ensemble = await etcdEnsemble(stage)
  const { alone, others } = ensemble
  const lone = await stage.holdfast(`etcd://${addresses([alone])}`, { connectTimeoutMs: PATIENCE_MS })
  const major = await stage.holdfast(`etcd://${addresses(others)}`)
  return minorityActs(stage, {
    lone: side(etcdClient(stage, [alone], PATIENCE_MS)),
    major: side(etcdClient(stage, others)),
    localRead: 'a serializable read',
    holdfast: { lone, major },
    ttlMs: TTL_MS,
    ensemble,
  })
}

export const minorityEtcd: Exhibit = {
  name: 'minority-etcd',
  title: 'the minority side of a 3-node etcd refuses; what it says of owners is old',
  recipe: 'Txn: IF create_revision(lock) = 0 THEN put(lock, owner, lease)',
  source: 'the course on etcd, as the answer to split brain; a read that is not linearizable is the trap beside it',
  lesson: 'Nothing is granted without a majority. Never ask a server that answers alone who owns a lock.',
  servers: ['etcd'],
  kind: 'deterministic',
  run,
}
