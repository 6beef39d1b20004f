/** Holdfast itself, built, on any store: by URL, or behind a counting driver if calls are to be counted. */
import { counting } from '../counting.js'
import { isBuilt, isInstalled, loadBuilt } from '../load.js'
import { ioredis, memoryOf } from '../redis.js'

/** @typedef {import('../adapter.ts').Adapter} Adapter */
/** @typedef {import('../../packages/holdfast/src/index.ts').Held} Held */
/** @typedef {import('../../packages/holdfast/src/index.ts').Driver} Driver */

/**
 * How to make the driver of a URL, for counting: a URL given to `holdfast()` hides its driver.
 *
 * @type {Record<string, (rest: string) => Promise<Driver>>}
 */
const DRIVERS = {
  async memory(rest) {
    /** @type {typeof import('../../packages/holdfast/src/stores/memory/index.ts')} */
    const { memory } = await loadBuilt('stores/memory/index.js')
    return memory(rest === '' ? {} : { name: rest })
  },
  async sqlite(rest) {
    /** @type {{ sqlite: (path: string) => Driver }} */
    const { sqlite } = await loadBuilt('stores/sqlite/index.js')
    return sqlite(rest)
  },
  async redis(rest) {
    /** @type {typeof import('../../packages/holdfast/src/stores/redis/index.ts')} */
    const { redis } = await loadBuilt('stores/redis/index.js')
    return redis(`redis:${rest}`)
  },
  async zookeeper(rest) {
    /** @type {typeof import('../../packages/holdfast/src/stores/zookeeper/index.ts')} */
    const { zookeeper } = await loadBuilt('stores/zookeeper/index.js')
    return zookeeper(`zookeeper:${rest}`)
  },
  async redlock(rest) {
    /** @type {typeof import('../../packages/holdfast/src/stores/redlock/index.ts')} */
    const { redlock } = await loadBuilt('stores/redlock/index.js')
    return redlock(`redlock:${rest}`)
  },
  async postgres(rest) {
    /** @type {typeof import('../../packages/holdfast/src/stores/postgres/index.ts')} */
    const { postgres } = await loadBuilt('stores/postgres/index.js')
    return postgres(`postgres:${rest}`)
  },
  async mysql(rest) {
    /** @type {typeof import('../../packages/holdfast/src/stores/mysql/index.ts')} */
    const { mysql } = await loadBuilt('stores/mysql/index.js')
    const [url, query] = rest.split('?')
    return mysql(`mysql:${url}`, { doorbell: query !== 'doorbell=false' })
  },
  async etcd(rest) {
    /** @type {{ etcd: (url: string) => Promise<Driver> }} */
    const { etcd } = await loadBuilt('stores/etcd/index.js')
    return etcd(`etcd:${rest}`)
  },
}

/**
 * @param {string} name
 * @param {import('../../packages/holdfast/src/index.ts').LockOptions} options
 * @param {Partial<Adapter>} [also]
 * @returns {Adapter}
 */
function adapter(name, options, also = {}) {
  return {
    name,
    store: '*',
    role: 'ours',
    noticesDeath: true,
    ...also,
    async open({ url, ttlMs, counting: isCounting }) {
      /** @type {typeof import('../../packages/holdfast/src/index.ts')} */
      const { holdfast } = await loadBuilt('index.js')
      const scheme = url.slice(0, url.indexOf(':'))
      const openDriver = isCounting && isBuilt(`stores/${scheme}/index.js`) ? DRIVERS[scheme] : undefined
      const counted = openDriver && counting(await openDriver(url.slice(scheme.length + 1)))
      // As with a URL, the store is open before the first lock is asked for.
      await counted?.driver.setup?.()
      // Options of the instance, not of each lock: those would have settings of their own, and weigh half a kilobyte
      // more.
      const hf = await holdfast(counted?.driver ?? url, { ttlMs, ...options })
      // Makes the tables, if the store needs any.
      await hf.setup()
      return {
        lock: (key) => lockOf(hf.mutex(key)),
        fresh: (key) => lockOf(hf.mutex(key, { ttlMs, ...options })),
        kept: (key) => lockOf(hf.mutex(key, { ttlMs, fairness: 'local', keep: true })),
        readLock: (key) => lockOf(hf.rwLock(key).read),
        limit() {
          const limiter = hf.limiter('bench', { limit: 1_000_000_000, perMs: 1_000 })
          return { take: async (key) => (await limiter.take(key)).allowed }
        },
        ids() {
          const ids = hf.ids()
          return { next: () => ids.tryNext(), wait: () => ids.next() }
        },
        isHeld: (held) => /** @type {Held} */ (held).state === 'held',
        ...(counted && { calls: counted.calls }),
        ...(scheme === 'redis' && isInstalled('ioredis') && { storeBytes: () => memoryOf(url) }),
        close: () => hf.close(),
      }
    },
  }
}

export const local = adapter('holdfast', { fairness: 'local' }, { kit: true, reads: true, keeps: true })
// Holds and dead holders are the same in both, so measure them once.
export const strict = adapter(
  'holdfast-strict',
  { fairness: 'strict' },
  {
    only: ['uncontended', 'contended', 'herd', 'tasks', 'idle', 'growth'],
  },
)

/**
 * @param {import('../../packages/holdfast/src/index.ts').Lock} lock
 * @returns {import('../adapter.ts').Lock}
 */
function lockOf(lock) {
  return { acquire: () => lock.acquire(), release: (held) => /** @type {Held} */ (held).release() }
}

/** Holdfast over a client that the user has already. @param {string} name @param {string} client @returns {Adapter} */
function over(name, client) {
  return {
    name,
    store: 'redis',
    role: 'ours',
    packages: [client],
    only: ['uncontended'],
    async open({ url, ttlMs }) {
      /** @type {typeof import('../../packages/holdfast/src/index.ts')} */
      const { holdfast } = await loadBuilt('index.js')
      /** @type {typeof import('../../packages/holdfast/src/stores/redis/index.ts')} */
      const { redis } = await loadBuilt('stores/redis/index.js')
      const own = await ioredis(url, client)
      const hf = await holdfast(redis(/** @type {any} */ (own)), { ttlMs })
      return {
        lock: (key) => lockOf(hf.mutex(key)),
        fresh: (key) => lockOf(hf.mutex(key, { ttlMs })),
        async close() {
          await hf.close()
          own.disconnect()
        },
      }
    },
  }
}

export const overIoredis = over('holdfast-ioredis', 'ioredis')
/** Version 5, which most programs use; the repository installs it. */
export const overIoredis5 = over('holdfast-ioredis5', 'ioredis5')
