/**
 * Other lock libraries on Redis, each over ioredis, with its own way of waiting; where that would give up, it goes on
 * for ever.
 */
import { load } from '../load.js'
import { ioredis } from '../redis.js'

/** @typedef {import('../adapter.ts').Adapter} Adapter */
/** @typedef {import('../adapter.ts').Lock} Lock */
/** @typedef {(client: import('../redis.js').Client, ttlMs: number) => Promise<(key: string) => Lock>} Make */

const LONG_MS = 2_147_483_647
const FOR_EVER = 1_000_000_000

/**
 * @param {string} name
 * @param {string} package_
 * @param {Make} make
 * @returns {Adapter}
 */
function peer(name, package_, make) {
  return {
    name,
    store: 'redis',
    role: 'peer',
    packages: [package_, 'ioredis'],
    only: ['uncontended', 'contended', 'tasks', 'idle'],
    async open({ url, ttlMs, counting }) {
      const client = await ioredis(url)
      let commands = 0
      if (counting) {
        const send = client.sendCommand.bind(client)
        client.sendCommand = (...args) => {
          commands++
          return send(...args)
        }
      }
      const lock = await make(client, ttlMs)
      return {
        lock: (key) => lock(`peer:${key}`),
        ...(counting && { calls: () => ({ total: commands, touches: 0, places: 0, blockedMsP999: Number.NaN }) }),
        close: () => client.disconnect(),
      }
    },
  }
}

/** @typedef {{ unlock(): Promise<unknown> }} Lock4 */
export const redlock4 = peer('redlock@4', 'redlock-4', async (client, ttlMs) => {
  /**
   * @type {{ default: new (clients: object[], options: object) => { lock(key: string, ttlMs: number): Promise<Lock4> }
   * }}
   */
  const { default: Redlock } = await load('redlock-4')
  const redlock = new Redlock([client], { retryCount: -1 })
  return (key) => ({
    acquire: () => redlock.lock(key, ttlMs),
    release: (lock) => /** @type {Lock4} */ (lock).unlock(),
  })
})

/** @typedef {{ release(): Promise<unknown> }} Lock5 */
/**
 * @typedef {new (clients: object[], options: object) => { acquire(keys: string[], ttlMs: number): Promise<Lock5> }}
 * Redlock5
 */

/** @param {Redlock5} Redlock @param {object} client @param {number} ttlMs @returns {(key: string) => Lock} */
function over5(Redlock, client, ttlMs) {
  const redlock = new Redlock([client], { retryCount: -1 })
  return (key) => ({
    acquire: () => redlock.acquire([key], ttlMs),
    release: (lock) => /** @type {Lock5} */ (lock).release(),
  })
}

export const redlock5 = peer('redlock@5', 'redlock', async (client, ttlMs) => {
  /** @type {{ default: Redlock5 }} */
  const { default: Redlock } = await load('redlock')
  return over5(Redlock, client, ttlMs)
})

export const sesamecare = peer('sesamecare-redlock', '@sesamecare-oss/redlock', async (client, ttlMs) => {
  /** @type {{ Redlock: Redlock5 }} */
  const { Redlock } = await load('@sesamecare-oss/redlock')
  return over5(Redlock, client, ttlMs)
})

/** @typedef {{ acquire(): Promise<void>, release(): Promise<void> }} SemaphoreMutex */
export const redisSemaphore = peer('redis-semaphore', 'redis-semaphore', async (client, ttlMs) => {
  /** @type {{ Mutex: new (client: object, key: string, options: object) => SemaphoreMutex }} */
  const { Mutex } = await load('redis-semaphore')
  return (key) => ({
    async acquire() {
      // Each mutex object of this package is one owner.
      const mutex = new Mutex(client, key, { lockTimeout: ttlMs, acquireTimeout: LONG_MS })
      await mutex.acquire()
      return mutex
    },
    release: (mutex) => /** @type {SemaphoreMutex} */ (mutex).release(),
  })
})

/** @typedef {{ acquire(): Promise<boolean>, release(): Promise<void> }} VerrouLock */
export const verrou = peer('verrou', '@verrou/core', async (client, ttlMs) => {
  /** @type {{ Verrou: new (options: object) => { createLock(key: string, ttlMs: number): VerrouLock } }} */
  const { Verrou } = await load('@verrou/core')
  /** @type {{ redisStore(options: object): unknown }} */
  const { redisStore } = await load('@verrou/core/drivers/redis')
  const stores = { redis: { driver: redisStore({ connection: client }) } }
  const locks = new Verrou({ default: 'redis', stores })
  return (key) => ({
    async acquire() {
      const lock = locks.createLock(key, ttlMs)
      if (!(await lock.acquire())) throw new Error('verrou gave up')
      return lock
    },
    release: (lock) => /** @type {VerrouLock} */ (lock).release(),
  })
})

/** @typedef {{ acquire(): Promise<unknown>, release(handle: unknown): Promise<unknown> }} UniversalLock */
export const redlockUniversal = peer('redlock-universal', 'redlock-universal', async (client, ttlMs) => {
  /** @type {{ createLock(options: object): UniversalLock, IoredisAdapter: new (client: object) => object }} */
  const { createLock, IoredisAdapter } = await load('redlock-universal')
  const adapter = new IoredisAdapter(client)
  return (key) => {
    const lock = createLock({ adapter, key, ttl: ttlMs, retryAttempts: FOR_EVER })
    return { acquire: () => lock.acquire(), release: (handle) => lock.release(handle) }
  }
})
