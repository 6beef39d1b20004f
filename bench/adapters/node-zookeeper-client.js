/**
 * The peer of our own client: the same pair of create and delete through node-zookeeper-client. It locks
 * nothing.
 */
import { answer, openClient } from './zk-recipe.js'

/** @type {import('../adapter.ts').Adapter} */
export const nodeZookeeperClient = {
  name: 'node-zookeeper-client',
  store: 'zookeeper',
  role: 'peer',
  packages: ['node-zookeeper-client'],
  only: ['uncontended'],
  async open({ url, ttlMs }) {
    const { client, mode } = await openClient(url, ttlMs)
    const data = Buffer.alloc(64)
    return {
      lock(key) {
        const parent = `/raw/${encodeURIComponent(key)}`
        let made = false
        return {
          async acquire() {
            if (!made) await answer((done) => client.mkdirp(parent, done))
            made = true
            return answer((done) => client.create(`${parent}/p-`, data, mode, done))
          },
          release: (path) => answer((done) => client.remove(String(path), done)),
        }
      },
      close: () => client.close(),
    }
  },
}
