/**
 * The raw limit on ZooKeeper: to create an ephemeral sequential node and to delete it, through the same client. It
 * locks nothing.
 */
import { loadBuilt } from '../load.js'

/** @type {import('../adapter.ts').Adapter} */
export const rawZookeeper = {
  name: 'raw-zookeeper',
  store: 'zookeeper',
  role: 'raw',
  only: ['uncontended'],
  renews: false,
  recovers: false,
  async open({ url, ttlMs }) {
    /** @type {typeof import('../../packages/holdfast/src/clients/zookeeper/index.ts')} */
    const { ZooKeeperClient, isZooKeeperError } = await loadBuilt('clients/zookeeper/index.js')
    const { host } = new URL(url.split(',')[0] ?? url)
    const client = new ZooKeeperClient({ servers: [host], sessionTimeoutMs: ttlMs })
    const data = Buffer.alloc(64)
    await client.connect()
    /** @param {string} path */
    const make = async (path) => {
      try {
        await client.create(path)
      } catch (error) {
        if (!isZooKeeperError(error, 'NodeExists')) throw error
      }
    }
    await make('/raw')
    return {
      lock(key) {
        const parent = `/raw/${encodeURIComponent(key)}`
        let made = false
        return {
          async acquire() {
            // One parent for each key, as the driver has it for its lines.
            if (!made) await make(parent)
            made = true
            return client.create(`${parent}/p-`, data, { mode: 'ephemeralSequential' })
          },
          release: (path) => client.delete(String(path)),
        }
      },
      close: () => client.close(),
    }
  },
}
