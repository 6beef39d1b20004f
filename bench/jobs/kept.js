/** Locks that stay with their process, in the child: pairs without a call to the store, and what a rival waits for. */
import { setImmediate as turn } from 'node:timers/promises'
import { sharedNow } from '../clock.js'

/** @typedef {import('../adapter.ts').Client} Client */

const PAIRS_PER_TURN = 256
/** A place serves 1 024 pairs: in 300 ms etcd and ZooKeeper see so few changes that both sides run cold code. */
const WARM_MS = 1_500

/** @type {Map<string, unknown>} */
const held = new Map()

/** @param {Client} client @param {{ key: string, windowMs: number }} params */
export async function pairs(client, { key, windowMs }) {
  const lock = keptLock(client, key)
  await spin(lock, WARM_MS)
  return { pairsPerS: await spin(lock, windowMs) }
}

/**
 * Uses a kept lock once: from here on it stays with this process.
 *
 * @param {Client} client
 * @param {{ key: string }} params
 */
export async function use(client, { key }) {
  const lock = keptLock(client, key)
  await lock.release(await lock.acquire())
}

/** @param {Client} client @param {{ key: string }} params */
export async function hold(client, { key }) {
  held.set(key, await client.lock(key).acquire())
}

/** Returns when the release began. @param {Client} client @param {{ key: string }} params */
export async function letGo(client, { key }) {
  const at = sharedNow()
  await client.lock(key).release(held.get(key))
  return at
}

/** A rival. Returns when it asked, and when it held. @param {Client} client @param {{ key: string }} params */
export async function take(client, { key }) {
  const lock = client.lock(key)
  const askedAt = sharedNow()
  const token = await lock.acquire()
  const heldAt = sharedNow()
  await lock.release(token)
  return { askedAt, heldAt }
}

/** @param {Client} client @param {string} key */
function keptLock(client, key) {
  const lock = client.kept?.(key)
  if (lock === undefined) throw new Error('this adapter keeps no locks')
  return lock
}

/** Pairs a second. @param {import('../adapter.ts').Lock} lock @param {number} windowMs */
async function spin(lock, windowMs) {
  const from = performance.now()
  let pairs = 0
  while (performance.now() - from < windowMs) {
    for (let i = 0; i < PAIRS_PER_TURN; i++) await lock.release(await lock.acquire())
    pairs += PAIRS_PER_TURN
    // Without this pause neither the heartbeat nor a wake-up of the store would ever run.
    await turn()
  }
  return (pairs / (performance.now() - from)) * 1_000
}
