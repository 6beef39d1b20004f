/** Many tasks of one process on one line, in the child: all ask at once, each holds it once. */
import { setImmediate as turn } from 'node:timers/promises'
import { busyNow } from '../clock.js'
import { quantile } from '../stats.js'

/** @typedef {import('../adapter.ts').Client} Client */

/** @param {Client} client @param {{ tasks: number, warmMs: number, windowMs: number, isLocal: boolean }} params */
export async function measure(client, { tasks, warmMs, windowMs, isLocal }) {
  const clock = isLocal ? busyNow : () => performance.now()
  const lock = client.lock('bench:tasks')
  const first = await batch(lock, tasks)
  let isInOrder = first.isInOrder
  const warmUntil = clock() + warmMs
  while (clock() < warmUntil) await batch(lock, tasks)
  const cpu = process.cpuUsage()
  /** @type {number[]} */
  const rates = []
  // A run that took longer than the window needs no second run: its code was compiled for most of the time.
  const isLong = !isLocal && first.tookMs > windowMs
  if (isLong) rates.push(first.perS)
  const ends = isLong ? Number.NEGATIVE_INFINITY : clock() + windowMs
  while (rates.length === 0 || clock() < ends) {
    const { perS, isInOrder: again } = await batch(lock, tasks)
    rates.push(perS)
    isInOrder &&= again
    // Between two batches, heartbeats and the store's messages get their turn.
    await turn()
  }
  const { user, system } = process.cpuUsage(cpu)
  const cpuUsPerTask = isLong ? Number.NaN : (user + system) / (rates.length * tasks)
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
