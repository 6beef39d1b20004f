/** The `redlock` package, as its documentation shows it: one client of ioredis for each server, its own retries. */
import { load } from '../load.js'
import { ioredis } from '../redis.js'
import { serversOf } from './raw-redlock.js'

/** @typedef {{ release(): Promise<unknown> }} RedlockLock */
/**
 * @typedef {{ acquire(keys: readonly string[], ttlMs: number): Promise<RedlockLock>, on(event: string, listener: () =>
 * void): void }} Redlock
 */

/** @type {import('../adapter.ts').Adapter} */
export const redlockPackage = {
  name: 'redlock@5b2-nodes',
  store: 'redlock',
  role: 'peer',
  packages: ['redlock', 'ioredis'],
  only: ['uncontended', 'contended'],
  renews: false,
  recovers: false,
  async open({ url, ttlMs }) {
    const clients = await Promise.all(serversOf(url).map((url) => ioredis(url)))
    /** @type {{ default: new (clients: readonly unknown[], settings: object) => Redlock }} */
    const { default: Client } = await load('redlock')
    const redlock = new Client(clients, { retryCount: -1 })
    redlock.on('error', () => undefined)
    return {
      lock: (name) => ({
        acquire: () => redlock.acquire([`redlock:${name}`], ttlMs),
        release: (held) => /** @type {RedlockLock} */ (held).release(),
      }),
      close() {
        for (const client of clients) client.disconnect()
      },
    }
  },
}
