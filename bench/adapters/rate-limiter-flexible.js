/** The peer for rate limits: rate-limiter-flexible, in memory and on Redis (over ioredis). Fixed windows. */
import { load } from '../load.js'
import { ioredis } from '../redis.js'
import { noLock } from './no-lock.js'

/** @typedef {{ consume(key: string, points: number): Promise<unknown> }} RateLimiter */
/** @typedef {new (options: object) => RateLimiter} RateLimiterClass */

const RATE = { points: 1_000_000_000, duration: 1 }

/** @param {RateLimiter} limiter @returns {import('../adapter.ts').Limit} */
function asLimit(limiter) {
  return {
    async take(key) {
      await limiter.consume(key, 1)
      return true
    },
  }
}

/** @type {import('../adapter.ts').Adapter} */
export const flexibleMemory = {
  name: 'rate-limiter-flexible',
  store: 'memory',
  role: 'peer',
  packages: ['rate-limiter-flexible'],
  only: ['limiter'],
  async open() {
    /** @type {{ RateLimiterMemory: RateLimiterClass }} */
    const { RateLimiterMemory } = await load('rate-limiter-flexible')
    return { lock: noLock, limit: () => asLimit(new RateLimiterMemory(RATE)), close() {} }
  },
}

/** @type {import('../adapter.ts').Adapter} */
export const flexibleRedis = {
  name: 'rate-limiter-flexible-redis',
  store: 'redis',
  role: 'peer',
  packages: ['rate-limiter-flexible', 'ioredis'],
  only: ['limiter'],
  async open({ url }) {
    /** @type {{ RateLimiterRedis: RateLimiterClass }} */
    const { RateLimiterRedis } = await load('rate-limiter-flexible')
    const redis = await ioredis(url)
    return {
      lock: noLock,
      limit: () => asLimit(new RateLimiterRedis({ ...RATE, storeClient: redis, keyPrefix: 'bench' })),
      close: () => redis.disconnect(),
    }
  },
}
