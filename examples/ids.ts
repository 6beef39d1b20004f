/** 64-bit ids by time, made in two processes without asking each other: none twice. */
import { holdfast } from 'holdfast'

const store = process.argv[2] ?? 'memory:ids'
const processes = [await holdfast(store), await holdfast(store)]
const makers = processes.map((hf) => hf.ids())
const made = await Promise.all(
  makers.map(async (ids) => {
    const own: bigint[] = []
    for (let i = 0; i < 1_000; i++) own.push(await ids.next())
    return own
  }),
)
console.log(`${new Set(made.flat()).size} different ids`)
for (const hf of processes) await hf.close()
