/**
 * `node bench/redis-pair.js URL ADAPTER[,ADAPTER] CALLERS[,CALLERS] [fresh|reused] [PAIRS]`: what a pair costs on
 * Redis, for a machine that others use, where pairs a second say little. Processor time of client and server, the
 * cheapest tenth of the windows; for one caller also the time that its quickest pairs take, when nobody else was in the
 * way. Contestants take turns, each in a process of its own.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Connection } from '../packages/holdfast/build/src/clients/redis/connection.js'
import { adapters } from './adapters/index.js'
import { quantile } from './stats.js'

const WINDOWS = 20
const TURNS = 3
const NAMES = 1_000
const QUICKEST = 0.05
const CHEAPEST = 0.1

const [url = '', who = 'holdfast,raw-ioredis', callers = '1,16,256', use = 'fresh', pairs = '40000', child] =
  process.argv.slice(2)
if (child === undefined) {
  for (const count of callers.split(','))
    for (let turn = 0; turn < TURNS; turn++)
      for (const name of who.split(','))
        spawnSync(process.execPath, [fileURLToPath(import.meta.url), url, name, count, use, pairs, 'child'], {
          stdio: 'inherit',
        })
} else {
  await measure(who, Number(callers), Number(pairs))
}

/** @param {string} name @param {number} count @param {number} total */
async function measure(name, count, total) {
  const adapter = adapters.find((one) => one.name === name && (one.store === 'redis' || one.store === '*'))
  if (adapter === undefined) throw new Error(`there is no adapter ${name} for Redis`)
  const client = await adapter.open(
    /** @type {import('./adapter.ts').Config} */ ({ url, ttlMs: 30_000, counting: false }),
  )
  const { hostname, port } = new URL(url)
  const server = new Connection({ host: hostname, port: Number(port) })
  const locks = Array.from({ length: count }, (_, i) => lockOf(client, `pair:${process.pid}:${i}`))
  /** @type {{ ours: number[], theirs: number[], lone: number[] }} */
  const { ours, theirs, lone } = { ours: [], theirs: [], lone: [] }
  await spin(locks, total / 2, [])
  for (let i = 0; i < WINDOWS; i++) {
    const [before, cpu] = [await serverUs(server), process.cpuUsage()]
    const made = await spin(locks, total / WINDOWS, lone)
    const { user, system } = process.cpuUsage(cpu)
    ours.push((user + system) / made)
    theirs.push(((await serverUs(server)) - before) / made)
  }
  const [us, them] = [ours, theirs].map((all) => quantile(new Float64Array(all), CHEAPEST).toFixed(1))
  const took = count > 1 ? '' : `, a pair took ${(quantile(new Float64Array(lone), QUICKEST) * 1_000).toFixed(0)} µs`
  console.log(`${name}, ${count} ${use}: client ${us} µs, server ${them} µs${took}`)
  await client.close()
  await server.close()
}

/** @param {import('./adapter.ts').Client} client @param {string} key @returns {import('./adapter.ts').Lock} */
function lockOf(client, key) {
  if (use === 'reused') return client.lock(key)
  const make = client.fresh ?? client.lock
  let number = 0
  /** @type {import('./adapter.ts').Lock} */
  let last
  return {
    acquire() {
      last = make(`${key}:${number++ % NAMES}`)
      return last.acquire()
    },
    release: (token) => last.release(token),
  }
}

/** @param {readonly import('./adapter.ts').Lock[]} locks @param {number} total @param {number[]} took by each pair */
async function spin(locks, total, took) {
  let made = 0
  await Promise.all(
    locks.map(async (lock) => {
      while (made < total) {
        made++
        const from = performance.now()
        await lock.release(await lock.acquire())
        took.push(performance.now() - from)
      }
    }),
  )
  return made
}

/** @param {Connection} server */
async function serverUs(server) {
  const said = /** @type {string} */ (await server.command(['INFO', 'cpu']))
  /** @param {string} name */
  const seconds = (name) => Number(new RegExp(`used_cpu_${name}_main_thread:([\\d.]+)`).exec(said)?.[1])
  return (seconds('user') + seconds('sys')) * 1e6
}
