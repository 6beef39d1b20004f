/**
 * Processor time a pair, of the client and of the SQL server, for a machine that others use, where pairs a second say
 * little: `node bench/server-time.js URL holdfast|raw CALLERS[,CALLERS] fresh|reused [MS]`. The server runs on this
 * machine, started by `npm run testbed -- postgres mariadb`: its processes are known by the port in their command line.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { local } from './adapters/holdfast.js'
import { rawMysql } from './adapters/raw-mysql.js'
import { rawPostgres } from './adapters/raw-postgres.js'

const WARM_MS = 800
const NAMES = 1_000
const TICK_US = 10_000

const [url = '', who = 'holdfast', callers = '16,256', use = 'fresh', ms = '1500'] = process.argv.slice(2)
const raw = url.startsWith('postgres') ? rawPostgres : rawMysql
const { port } = new URL(url)
const client = await (who === 'raw' ? raw : local).open(
  /** @type {import('./adapter.ts').Config} */ ({ url, ttlMs: 30_000, counting: false }),
)

for (const count of callers.split(',').map(Number)) {
  const locks = Array.from({ length: count }, (_, i) => lockOf(`time:${process.pid}:${count}:${i}`))
  await spin(locks, WARM_MS)
  const [cpu, server, began] = [process.cpuUsage(), serverUs(), performance.now()]
  const pairs = await spin(locks, Number(ms))
  const tookMs = performance.now() - began
  const { user, system } = process.cpuUsage(cpu)
  const [ours, theirs] = [(user + system) / pairs, (serverUs() - server) / pairs].map((us) => us.toFixed(1))
  const rate = Math.round((pairs / tookMs) * 1_000)
  console.log(`${who} ${use} ${count}: client ${ours} us, server ${theirs} us, ${rate} pairs/s`)
}
await client.close()

/** @param {string} key @returns {import('./adapter.ts').Lock} */
function lockOf(key) {
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

/** @param {readonly import('./adapter.ts').Lock[]} locks @param {number} windowMs */
async function spin(locks, windowMs) {
  const ends = performance.now() + windowMs
  let pairs = 0
  await Promise.all(
    locks.map(async (lock) => {
      while (performance.now() < ends) {
        await lock.release(await lock.acquire())
        pairs++
      }
    }),
  )
  return pairs
}

/** The time of the server and its children, also of those that have ended. */
function serverUs() {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const stats = pids.flatMap((pid) => statOf(pid))
  const main = stats.find(({ pid }) => {
    const command = fileOf(`/proc/${pid}/cmdline`) ?? ''
    return command.includes(`port=${port}`) && !command.startsWith('node')
  })
  if (main === undefined) throw new Error(`no server of this machine has port=${port} in its command line`)
  const living = stats.filter(({ parent }) => parent === main.pid).reduce((sum, { ticks }) => sum + ticks, 0)
  return (main.ticks + main.deadTicks + living) * TICK_US
}

/** @param {string} pid */
function statOf(pid) {
  const stat = fileOf(`/proc/${pid}/stat`)
  if (stat === null) return []
  // Behind the name, which may hold spaces: state, parent, … user and system time, and those of dead children.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [user, system, deadUser, deadSystem] = fields.slice(11, 15).map(Number)
  return [
    { pid, parent: fields[1], ticks: (user ?? 0) + (system ?? 0), deadTicks: (deadUser ?? 0) + (deadSystem ?? 0) },
  ]
}

/** null: the process has ended meanwhile. @param {string} path */
function fileOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
