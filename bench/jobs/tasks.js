/** Many tasks of one process on one line, in the child: all ask at once, each holds it once. */
import { setImmediate as turn } from 'node:timers/promises'
import { quantile } from '../stats.js'

/** @typedef {import('../adapter.ts').Client} Client */

/** @param {Client} client @param {{ tasks: number, warmMs: number, windowMs: number }} params */
export async function measure(client, { tasks, warmMs, windowMs }) {
  const lock = client.lock('bench:tasks')
  const first = await batch(lock, tasks)
  let isInOrder = first.isInOrder
  const warmUntil = performance.now() + warmMs
  while (performance.now() < warmUntil) await batch(lock, tasks)
  const cpu = process.cpuUsage()
  /** @type {number[]} */
  const rates = []
  // One that took longer than the window needs no second: nothing in it was cold for long.
  if (first.tookMs > windowMs) rates.push(first.perS)
  const ends = performance.now() + windowMs
  while (rates.length === 0 || (first.tookMs <= windowMs && performance.now() < ends)) {
    const { perS, isInOrder: again } = await batch(lock, tasks)
    rates.push(perS)
    isInOrder &&= again
    // Heartbeats and the store's messages get their turn between two batches.
    await turn()
  }
  const { user, system } = process.cpuUsage(cpu)
  const cpuUsPerTask = first.tookMs > windowMs ? Number.NaN : (user + system) / (rates.length * tasks)
  return { tasksPerS: quantile(rates, 0.5), cpuUsPerTask, firstTasksPerS: first.perS, inOrder: isInOrder ? 1 : 0 }
}

/** @param {import('../adapter.ts').Lock} lock @param {number} tasks */
async function batch(lock, tasks) {
  /** @type {number[]} */
  const served = []
  const started = performance.now()
  await Promise.all(
    Array.from({ length: tasks }, async (_, i) => {
      const token = await lock.acquire()
      served.push(i)
      const released = lock.release(token)
      if (released !== undefined) await released
    }),
  )
  const tookMs = performance.now() - started
  return { tookMs, perS: (tasks / tookMs) * 1_000, isInOrder: served.every((task, i) => task === i) }
}
