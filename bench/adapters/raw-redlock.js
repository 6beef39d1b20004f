/**
 * The raw limit of Redlock: `SET NX PX` and compare-and-delete on all servers in parallel over ioredis, awaited by
 * majority.
 */
import { createHash } from 'node:crypto'
import { ioredis } from '../redis.js'

const LUA = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
const SHA1 = createHash('sha1').update(LUA).digest('hex')

/** @type {import('../adapter.ts').Adapter} */
export const rawRedlock = {
  name: 'raw-redlock',
  store: 'redlock',
  role: 'raw',
  packages: ['ioredis'],
  only: ['uncontended'],
  renews: false,
  recovers: false,
  async open({ url, ttlMs }) {
    const clients = await Promise.all(serversOf(url).map((url) => ioredis(url)))
    for (const client of clients) await client.call('SCRIPT', 'LOAD', LUA)
    const quorum = Math.floor(clients.length / 2) + 1
    let last = 0
    return {
      lock(name) {
        const key = `raw:${name}`
        return {
          async acquire() {
            const token = `${process.pid}-${++last}`
            await most(
              clients.map((client) => client.set(key, token, 'PX', ttlMs, 'NX')),
              quorum,
            )
            return token
          },
          release: (token) =>
            most(
              clients.map((client) => client.evalsha(SHA1, 1, key, /** @type {string} */ (token))),
              quorum,
            ),
        }
      },
      close() {
        for (const client of clients) client.disconnect()
      },
    }
  },
}

/** @param {string} url @returns {string[]} */
export function serversOf(url) {
  return url
    .replace(/^redlock:\/\//, '')
    .replace(/\?.*/, '')
    .split(',')
    .map((host) => `redis://${host}`)
}

/**
 * Settles with the first majority, and does not wait for the other servers.
 *
 * @param {readonly Promise<unknown>[]} answers
 * @param {number} quorum
 * @returns {Promise<void>}
 */
function most(answers, quorum) {
  return new Promise((resolve, reject) => {
    let missing = quorum
    for (const answer of answers) answer.then(() => --missing === 0 && resolve(), reject)
  })
}
