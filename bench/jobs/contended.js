/** Contention for one key, in the child: its clients hold and ask again until the window ends, and note every hold. */
import { setTimeout as sleep } from 'node:timers/promises'
import { sharedNow } from '../clock.js'

/** @typedef {import('../adapter.ts').Client} Client */
/** @typedef {{ holds: Float64Array, calls: import('../adapter.ts').Calls | null }} Notes */

/** Numbers of one hold: client, asked at, acquired at, began to release at. */
export const HOLD_FIELDS = 4

/**
 * @param {Client} client
 * @param {{ key: string, clients: readonly number[], sectionMs: number, startsAt: number, endsAt: number }} params
 * @returns {Promise<Notes>}
 */
export async function measure(client, { key, clients, sectionMs, startsAt, endsAt }) {
  const before = await client.calls?.()
  const locks = clients.map(() => client.lock(key))
  await sleep(Math.max(0, startsAt - sharedNow()))
  /** @type {number[]} */
  const notes = []
  await Promise.all(
    clients.map(async (number, i) => {
      const lock = /** @type {import('../adapter.ts').Lock} */ (locks[i])
      let asked = sharedNow()
      while (asked < endsAt) {
        const token = await lock.acquire()
        const acquired = sharedNow()
        if (sectionMs > 0) await sleep(sectionMs)
        const releasing = sharedNow()
        notes.push(number, asked, acquired, releasing)
        const released = lock.release(token)
        if (released !== undefined) await released
        asked = sharedNow()
      }
    }),
  )
  const after = await client.calls?.()
  return { holds: Float64Array.from(notes), calls: before && after ? difference(after, before) : null }
}

/**
 * @param {import('../adapter.ts').Calls} after
 * @param {import('../adapter.ts').Calls} before
 */
function difference(after, before) {
  return {
    total: after.total - before.total,
    touches: after.touches - before.touches,
    places: after.places - before.places,
    blockedMsP999: after.blockedMsP999,
  }
}
