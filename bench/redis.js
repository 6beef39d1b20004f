/** A client of ioredis, as its users would make it; the only way that adapters get one. */
import { load } from './load.js'

/**
 * @typedef {object} Client the members that are used here
 * @property {(command: string, ...args: (string | number)[]) => Promise<unknown>} call
 * @property {(key: string, value: string, ...options: (string | number)[]) => Promise<unknown>} set
 * @property {(sha1: string, keys: number, ...args: (string | number)[]) => Promise<unknown>} evalsha
 * @property {(channel: string) => Promise<unknown>} subscribe
 * @property {(event: string, listener: (...args: unknown[]) => void) => unknown} on
 * @property {(command: unknown, stream?: unknown) => unknown} sendCommand
 * @property {() => Promise<unknown>} connect
 * @property {() => void} disconnect
 */

/** @param {string} url @param {string} [name] of the package @returns {Promise<Client>} connected */
export async function ioredis(url, name = 'ioredis') {
  /** @type {{ Redis: new (url: string, options: object) => Client }} */
  const { Redis } = await load(name)
  const client = new Redis(url, { lazyConnect: true })
  await client.connect()
  return client
}

/** How much memory the server has allocated. @param {string} url */
export async function memoryOf(url) {
  const client = await ioredis(url)
  const said = String(await client.call('INFO', 'memory'))
  client.disconnect()
  return Number(/used_memory:(\d+)/.exec(said)?.[1])
}
