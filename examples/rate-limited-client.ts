/** A client of an API that allows five calls in 500 ms, shared by all processes: each call waits for its turn. */
import { holdfast } from 'holdfast'

const store = process.argv[2] ?? 'memory:rate-limit'
const processes = [await holdfast(store), await holdfast(store)]
const limiters = processes.map((hf) => hf.limiter('api', { limit: 5, perMs: 500 }))

const started = performance.now()
const calls = Array.from({ length: 10 }, async (_, i) => {
  await (limiters[i % 2] as (typeof limiters)[number]).acquire('tenant-1')
  return performance.now() - started
})
const times = await Promise.all(calls)
// Five at once, and the other five as the rate lets them through.
console.log(Math.max(...times) >= 400 ? '10 calls, spread by the limit' : '10 calls at once')
for (const hf of processes) await hf.close()
