/** Waiting behind a held lock, in the child: what waiters cost while nothing happens. */
import { setTimeout as sleep } from 'node:timers/promises'

/** @typedef {import('../adapter.ts').Client} Client */

/** @param {Client} client @param {{ key: string }} params */
export async function hold(client, { key }) {
  await client.lock(key).acquire()
}

/** @param {Client} client @param {{ key: string, waiters: number, settleMs: number, windowMs: number }} params */
export async function wait(client, { key, waiters, settleMs, windowMs }) {
  /** @type {unknown} */
  let failure
  let served = 0
  for (let i = 0; i < waiters; i++) {
    // Background: nobody is served before this process ends, unless exclusion is broken.
    client
      .lock(key)
      .acquire()
      .then(
        () => served++,
        (error) => (failure = error),
      )
  }
  await sleep(settleMs)
  const before = await client.calls?.()
  const cpu = process.cpuUsage()
  const started = performance.now()
  await sleep(windowMs)
  const tookS = (performance.now() - started) / 1_000
  const { user, system } = process.cpuUsage(cpu)
  const after = await client.calls?.()
  if (failure !== undefined) throw failure
  if (served > 0) throw new Error(`${served} waiters were served while the lock was held`)
  return {
    callsPerS: before && after ? (after.total - before.total) / tookS : Number.NaN,
    cpuSPerMin: ((user + system) / 1e6 / tookS) * 60,
  }
}
