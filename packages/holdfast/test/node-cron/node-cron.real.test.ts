/** node-cron's own scheduler, in several "processes" that share a store: each slot runs once. */
import { schedule, type ScheduledTask } from 'node-cron'
import { expect, test } from 'vitest'
import { holdfast } from '../../src/index.ts'
import { runCoordinator } from '../../src/node-cron/index.ts'

test('three schedulers, one store: every slot is run once, and by nobody when the store is gone', async () => {
  const instances = await Promise.all([1, 2, 3].map(() => holdfast('memory:node-cron')))
  const runs: string[] = []
  const skipped: string[] = []
  const tasks: ScheduledTask[] = instances.map((hf) => {
    const task = schedule('* * * * * *', ({ date }) => void runs.push(new Date(date).toISOString()), {
      name: 'report',
      distributed: true,
      runCoordinator: runCoordinator(hf, { clockSkewMs: 5_000 }),
      logger: { info() {}, warn() {}, error() {}, debug() {} },
    })
    task.on('execution:skipped', ({ reason }) => void skipped.push(String(reason)))
    return task
  })
  await expect.poll(() => runs.length).toBeGreaterThan(2)
  expect(new Set(runs).size).toBe(runs.length)
  await expect.poll(() => skipped.filter((reason) => reason === 'not-elected').length).toBeGreaterThan(3)
  for (const hf of instances) await hf.close()
  const before = runs.length
  await expect.poll(() => skipped.includes('coordinator-error')).toBe(true)
  expect(runs.length).toBeLessThanOrEqual(before + 1)
  for (const task of tasks) await task.destroy()
})
