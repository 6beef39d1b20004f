/**
 * What a worker heartbeat costs while nothing happens: processor time of the whole process, against the same with
 * 'main'.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { holdfast } from '../packages/holdfast/build/src/index.js'

const SECONDS = Number(process.argv[2] ?? 20)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-idle-'))

/** @param {'main' | 'worker'} heartbeat @param {number} locks */
async function measure(heartbeat, locks) {
  const hf = await holdfast(process.env.HOLDFAST_STORE ?? `sqlite:${join(folder, 'locks.db')}`, { heartbeat })
  for (let i = 0; i < locks; i++) await hf.mutex(`idle-${heartbeat}-${i}`).acquire()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000))
  const { user, system } = process.cpuUsage(before)
  await hf.close()
  return (user + system) / 1e4 / SECONDS
}

for (const locks of [0, 1, 100]) {
  const [main, worker] = [await measure('main', locks), await measure('worker', locks)]
  console.log(`${locks} locks held, ttl 30 s: main ${main.toFixed(2)} % of a core, worker ${worker.toFixed(2)} %`)
}
rmSync(folder, { recursive: true, force: true })
