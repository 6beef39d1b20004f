/**
 * The fixed-key recipe on etcd: whoever creates the key holds the lock. By Holdfast's layout for it, and by hand.
 */
import { loadBuilt } from '../load.js'
import { endpointsOf } from './raw-etcd.js'

/** @typedef {import('../../packages/holdfast/src/index.ts').Held} Held */

let nextLabel = 0

/** Waiters ask again, less and less often. @type {import('../adapter.ts').Adapter} */
export const etcdKey = {
  name: 'etcd-key',
  store: 'etcd',
  role: 'ours',
  only: ['herd'],
  herdMax: 100,
  async open({ url, ttlMs }) {
    /** @type {typeof import('../../packages/holdfast/src/index.ts')} */
    const { holdfast } = await loadBuilt('index.js')
    /** @type {typeof import('../../packages/holdfast/src/stores/etcd/index.ts')} */
    const { etcd } = await loadBuilt('stores/etcd/index.js')
    const hf = await holdfast(await etcd({ url, layout: 'key' }), { ttlMs })
    return {
      lock(key) {
        // Each client by itself: callers of one process would share one place.
        const mutex = hf.mutex(key, { label: String(nextLabel++) })
        return { acquire: () => mutex.acquire(), release: (held) => /** @type {Held} */ (held).release() }
      },
      close: () => hf.close(),
    }
  },
}

/** Waiters watch the key, and all of them ask again when the key goes. @type {import('../adapter.ts').Adapter} */
export const etcdWatchedKey = {
  name: 'etcd-watched-key',
  store: 'etcd',
  role: 'raw',
  only: ['herd'],
  herdMax: 100,
  async open({ url }) {
    /** @type {typeof import('../../packages/holdfast/src/clients/etcd/index.ts')} */
    const { EtcdClient } = await loadBuilt('clients/etcd/index.js')
    const client = new EtcdClient({ endpoints: endpointsOf(url), timeoutMs: 60_000 })
    const { id: lease } = await client.lease.grant({ ttlS: 600 })
    const value = Buffer.from('{}')

    /** Settles when the key was changed after that revision. @param {Buffer} key @param {bigint} revision */
    async function changed(key, revision) {
      /** @type {() => void} */
      let tell = () => {}
      /** @type {Promise<void>} */
      const told = new Promise((resolve) => {
        tell = resolve
      })
      const watcher = await client.watch(key, { startRevision: revision + 1n }, { onEvents: tell, onEnd: tell })
      await told
      watcher.cancel()
    }

    return {
      lock(name) {
        const key = Buffer.from(`watched/${name}`)
        return {
          async acquire() {
            for (;;) {
              const { succeeded, header } = await client.txn({
                compare: [{ target: 'create', result: '=', key, createRevision: 0n }],
                success: [{ put: { key, value, lease } }],
              })
              if (succeeded) return header.revision
              await changed(key, header.revision)
            }
          },
          release: (revision) =>
            client.txn({
              compare: [{ target: 'create', result: '=', key, createRevision: /** @type {bigint} */ (revision) }],
              success: [{ deleteRange: { key } }],
            }),
        }
      },
      close: () => client.close(),
    }
  },
}
