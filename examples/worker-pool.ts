/** Ten jobs in two processes, at most three at a time: a semaphore. */
import { holdfast } from 'holdfast'

const store = process.argv[2] ?? 'memory:worker-pool'
const processes = [await holdfast(store), await holdfast(store)]
let [running, most, done] = [0, 0, 0]

const jobs = Array.from({ length: 10 }, (_, i) =>
  (processes[i % 2] as (typeof processes)[number]).semaphore('renderers', 3).using(async () => {
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, 20))
    running--
    done++
  }),
)
await Promise.all(jobs)
console.log(`${done} jobs, ${most <= 3 ? 'never more than 3' : most} at a time`)
for (const hf of processes) await hf.close()
