/**
 * The raw limits on Redis, over ioredis: the classic pair of commands, and the least that hands a lock on by a message.
 */
import { createHash, randomUUID } from 'node:crypto'
import { ioredis } from '../redis.js'

/** @typedef {import('../adapter.ts').Adapter} Adapter */

const DELETE = script("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")

// KEYS: the lock, its queue. ARGV: who, ttl ms.
const ENTER = script(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end
redis.call('RPUSH', KEYS[2], ARGV[1])
return 0`)

// The next in the queue has the lock when it gets the message. A contender is "process:number"; its process listens.
const LEAVE = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local next = redis.call('LPOP', KEYS[2])
if not next then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], next, 'PX', ARGV[2])
redis.call('PUBLISH', 'raw:' .. string.sub(next, 1, 36), string.sub(next, 38))
return 1`)

/** `SET NX PX` and compare-and-delete: two commands, and nobody can wait. @type {Adapter} */
export const rawIoredis = {
  name: 'raw-ioredis',
  store: 'redis',
  role: 'raw',
  packages: ['ioredis'],
  only: ['uncontended'],
  async open({ url, ttlMs }) {
    const client = await ioredis(url)
    await client.call('SCRIPT', 'LOAD', DELETE.lua)
    let last = 0
    return {
      lock(name) {
        const key = `raw:${name}`
        return {
          async acquire() {
            const token = `${process.pid}-${++last}`
            const reply = await client.set(key, token, 'PX', ttlMs, 'NX')
            if (reply !== 'OK') throw new Error(`${name} is taken`)
            return token
          },
          release: (token) => client.evalsha(DELETE.sha1, 1, key, /** @type {string} */ (token)),
        }
      },
      close: () => client.disconnect(),
    }
  },
}

/** A script to enter, a script to leave, and a message to the next: a fair lock costs at least this. @type {Adapter} */
export const rawPush = {
  name: 'raw-push',
  store: 'redis',
  role: 'raw',
  packages: ['ioredis'],
  only: ['uncontended', 'contended', 'tasks', 'idle'],
  async open({ url, ttlMs }) {
    const client = await ioredis(url)
    const listener = await ioredis(url)
    for (const { lua } of [ENTER, LEAVE]) await client.call('SCRIPT', 'LOAD', lua)
    const self = randomUUID()
    /** @type {Map<string, () => void>} */
    const waiting = new Map()
    listener.on('message', (_, number) => waiting.get(String(number))?.())
    await listener.subscribe(`raw:${self}`)
    let last = 0
    let calls = 0
    return {
      lock(name) {
        const keys = [`raw:{${name}}`, `raw:{${name}}:q`]
        return {
          async acquire() {
            const number = String(++last)
            const token = `${self}:${number}`
            /** @type {Promise<void>} */
            const told = new Promise((resolve) => waiting.set(number, resolve))
            calls++
            const isFree = await client.evalsha(ENTER.sha1, 2, ...keys, token, ttlMs)
            if (isFree !== 1) await told
            waiting.delete(number)
            return token
          },
          release(token) {
            calls++
            return client.evalsha(LEAVE.sha1, 2, ...keys, /** @type {string} */ (token), ttlMs)
          },
        }
      },
      calls: () => ({ total: calls, touches: 0, places: 0, blockedMsP999: Number.NaN }),
      close() {
        client.disconnect()
        listener.disconnect()
      },
    }
  },
}

/** @param {string} lua */
function script(lua) {
  return { lua, sha1: createHash('sha1').update(lua).digest('hex') }
}
