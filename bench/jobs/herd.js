/** A herd, in the child: its clients all want one key at the same moment, each once. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedNow } from '../clock.js'

/** @typedef {import('../adapter.ts').Client} Client */

/**
 * Returns when the last of them had released.
 * @param {Client} client
 * @param {{ key: string, clients: number, startsAt: number }} params
 */
export async function run(client, { key, clients, startsAt }) {
  await sleep(Math.max(0, startsAt - sharedNow()))
  await Promise.all(
    Array.from({ length: clients }, async () => {
      const lock = client.lock(key)
      await lock.release(await lock.acquire())
    }),
  )
  return sharedNow()
}
