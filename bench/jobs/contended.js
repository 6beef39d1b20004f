/** Contention for one key, in the child: its clients hold and ask again until the window ends, and note every hold. */
import { setTimeout as sleep } from 'node:timers/promises'
import { busyNow, sharedNow } from '../clock.js'

/** @typedef {import('../adapter.ts').Client} Client */
/** @typedef {{ holds: Float64Array, calls: import('../adapter.ts').Calls | null }} Notes */

/** Numbers of one hold: client, asked at, acquired at, began to release at. */
export const HOLD_FIELDS = 4
const WARM_BUSY_MS = 200

/** Warms up where nothing waits for a store, by work rather than by time. @param {Client} client */
export async function warm(client) {
  const until = busyNow() + WARM_BUSY_MS
  await compete(client, 'bench:warm', [0, 1, 2, 3], 0, () => busyNow() < until)
}

/**
 * @param {Client} client
 * @param {{ key: string, clients: readonly number[], sectionMs: number, startsAt: number, endsAt: number }} params
 * @returns {Promise<Notes>}
 */
export async function measure(client, { key, clients, sectionMs, startsAt, endsAt }) {
  const before = await client.calls?.()
  await sleep(Math.max(0, startsAt - sharedNow()))
  const holds = await compete(client, key, clients, sectionMs, (now) => now < endsAt)
  const after = await client.calls?.()
  return { holds, calls: before && after ? difference(after, before) : null }
}

/**
 * @param {Client} client
 * @param {string} key
 * @param {readonly number[]} clients
 * @param {number} sectionMs
 * @param {(now: number) => boolean} goesOn
 */
async function compete(client, key, clients, sectionMs, goesOn) {
  /** @type {number[]} */
  const notes = []
  await Promise.all(
    clients.map(async (number) => {
      const lock = client.lock(key)
      let asked = sharedNow()
      while (goesOn(asked)) {
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
  return Float64Array.from(notes)
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
