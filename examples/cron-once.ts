/** A job that every process schedules, and one of them runs: once a second, in three processes. */
import { holdfast } from 'holdfast'

const store = process.argv[2] ?? 'memory:cron-once'
const periods: number[] = []
const processes = await Promise.all([1, 2, 3].map(() => holdfast(store)))
const jobs = processes.map((hf) =>
  hf.once('report', {
    everyMs: 1_000,
    run: ({ dueMs }) => {
      periods.push(dueMs)
    },
  }),
)
while (periods.length < 3) await new Promise((resolve) => setTimeout(resolve, 50))
for (const job of jobs) await job[Symbol.asyncDispose]()
for (const hf of processes) await hf.close()
console.log(new Set(periods).size === periods.length ? 'no period ran twice' : `ran twice: ${periods.join(', ')}`)
