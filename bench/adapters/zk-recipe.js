/**
 * The peer on ZooKeeper: the lock recipe of its documentation, written by hand on node-zookeeper-client, since no
 * package has one.
 */
import { load } from '../load.js'

/**
 * @typedef {{ toString(): string }} Failure
 * @typedef {(error: Failure | null, result?: unknown) => void} Done
 * @typedef {object} Client
 * @property {(event: string, done: () => void) => void} once
 * @property {() => void} connect
 * @property {() => void} close
 * @property {(path: string, done: Done) => void} mkdirp
 * @property {(path: string, data: Buffer, mode: number, done: Done) => void} create
 * @property {(path: string, done: Done) => void} getChildren
 * @property {(path: string, watch: () => void, done: Done) => void} exists
 * @property {(path: string, done: Done) => void} remove
 */

/** @param {(done: Done) => void} call @returns {Promise<unknown>} */
export function answer(call) {
  return new Promise((resolve, reject) => {
    call((error, result) => (error ? reject(new Error(error.toString())) : resolve(result)))
  })
}

/** @param {string} url @param {number} ttlMs @returns {Promise<{ client: Client, mode: number }>} */
export async function openClient(url, ttlMs) {
  /**
   * @type {{ default: { createClient(servers: string, options: object): Client, CreateMode: { EPHEMERAL_SEQUENTIAL:
   * number } } }}
   */
  const { default: zookeeper } = await load('node-zookeeper-client')
  const client = zookeeper.createClient(url.replace('zookeeper://', ''), { sessionTimeout: ttlMs })
  await new Promise((resolve) => {
    client.once('connected', () => resolve(undefined))
    client.connect()
  })
  return { client, mode: zookeeper.CreateMode.EPHEMERAL_SEQUENTIAL }
}

/** @type {import('../adapter.ts').Adapter} */
export const zkRecipe = {
  name: 'zk-recipe',
  store: 'zookeeper',
  role: 'peer',
  packages: ['node-zookeeper-client'],
  async open({ url, ttlMs }) {
    const { client, mode } = await openClient(url, ttlMs)
    /** @param {string} parent @param {string} mine */
    const waitTurn = async (parent, mine) => {
      for (;;) {
        const children = /** @type {string[]} */ (await answer((done) => client.getChildren(parent, done)))
        const before = children.toSorted()[children.toSorted().indexOf(mine) - 1]
        if (before === undefined) return
        await new Promise((resolve, reject) => {
          client.exists(
            `${parent}/${before}`,
            () => resolve(undefined),
            (error, stat) => {
              if (error) reject(new Error(error.toString()))
              else if (!stat) resolve(undefined)
            },
          )
        })
      }
    }
    return {
      lock(key) {
        const parent = `/recipe/${encodeURIComponent(key)}`
        let made = false
        return {
          async acquire() {
            if (!made) await answer((done) => client.mkdirp(parent, done))
            made = true
            const path = String(await answer((done) => client.create(`${parent}/lock-`, Buffer.alloc(64), mode, done)))
            await waitTurn(parent, path.slice(parent.length + 1))
            return path
          },
          release: (path) => answer((done) => client.remove(String(path), done)),
        }
      },
      close: () => client.close(),
    }
  },
}
