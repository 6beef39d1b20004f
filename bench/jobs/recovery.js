/** The two sides of a recovery, in their children: one holds, the other waits for it to be gone. */
import { sharedNow } from '../clock.js'

/** @typedef {import('../adapter.ts').Client} Client */

/** @param {Client} client @param {{ key: string }} params */
export async function hold(client, { key }) {
  await client.lock(key).acquire()
}

/** Returns when the client got the lock. @param {Client} client @param {{ key: string }} params */
export async function take(client, { key }) {
  const lock = client.lock(key)
  const token = await lock.acquire()
  const acquiredAt = sharedNow()
  await lock.release(token)
  return acquiredAt
}
