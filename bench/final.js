/**
 * `node bench/final.js [--quick] [--only N,N]`: measures all that docs/explain/performance.md shows, one part after the
 * other, and makes the page anew. Needs `node scripts/build.js` and `npm ci --prefix bench`. With --quick it measures
 * little, for a look; --only names parts by their number, and leaves the others as they are. Each part says how long it
 * took. Three end by a limit, however slow the machine is: 9 after 10 minutes, 11 and 12 after four rows of four sizes,
 * each with its `--cell` to fill and at most 30 s beyond.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { readRun, writeRun } from './kept-run.js'
import { writePage } from './page.js'

/** @typedef {import('./kept-run.js').Part} Part */

const PEERS = 'raw-push,redlock@5,redis-semaphore'
const EVERY = 'memory,sqlite,redis,etcd,zookeeper,postgres,mariadb'

/**
 * What is measured: servers to start (or a store that needs none), and the arguments of the bench.
 *
 * @type {readonly { servers: string, args: readonly string[], rounds: number }[]}
 */
const PARTS = [
  {
    servers: 'redis',
    args: ['--scenario', 'uncontended', '--adapter', 'holdfast,holdfast-ioredis,holdfast-ioredis5,raw-ioredis'],
    rounds: 3,
  },
  {
    servers: 'redis',
    args: ['--scenario', 'contended', '--adapter', `holdfast-strict,${PEERS}`],
    rounds: 1,
  },
  { servers: 'memory', args: ['--scenario', 'uncontended', '--adapter', 'holdfast,async-mutex'], rounds: 5 },
  {
    servers: 'postgres',
    args: ['--scenario', 'uncontended', '--adapter', 'holdfast,raw-postgres', '--use', 'fresh'],
    rounds: 2,
  },
  {
    servers: 'mariadb',
    args: ['--scenario', 'uncontended', '--adapter', 'holdfast,raw-mysql', '--use', 'fresh'],
    rounds: 2,
  },
  {
    servers: 'redlock',
    args: ['--scenario', 'uncontended', '--adapter', 'holdfast,raw-redlock', '--use', 'fresh'],
    rounds: 2,
  },
  { servers: EVERY, args: ['--scenario', 'kept', '--adapter', 'holdfast'], rounds: 1 },
  { servers: 'redis', args: ['--scenario', 'holds', '--adapter', 'holdfast', '--held', '100000'], rounds: 1 },
  { servers: 'redis', args: ['--scenario', 'holds', '--adapter', 'holdfast', '--held', '1000000'], rounds: 1 },
  { servers: 'redis', args: ['--scenario', 'start', '--adapter', 'holdfast,node-alone'], rounds: 3 },
  { servers: 'memory,redis', args: ['--scenario', 'growth', '--adapter', 'holdfast', '--cell', '20'], rounds: 1 },
  {
    servers: 'sqlite,redlock,etcd,zookeeper,postgres,mariadb',
    args: ['--scenario', 'growth', '--adapter', 'holdfast', '--cell', '2'],
    rounds: 1,
  },
]

/** @param {typeof PARTS[number]} part @param {boolean} isQuick @returns {Promise<Part[]>} */
async function measure({ servers, args, rounds }, isQuick) {
  /** @type {Part[]} */
  const kept = []
  const [local = [], started = []] = [true, false].map((isLocal) =>
    servers.split(',').filter((name) => ['memory', 'sqlite'].includes(name) === isLocal),
  )
  for (const [names, option] of /** @type {const} */ ([
    [local, '--store'],
    [started, '--testbed'],
  ])) {
    if (names.length === 0) continue
    const all = [option, names.join(','), ...args, '--rounds', String(isQuick ? 1 : rounds), '--no-build']
    const file = await bench(all)
    // JSON has no NaN, so a missing figure is null in the file.
    kept.push(JSON.parse(await readFile(file, 'utf8')))
  }
  return kept
}

/** Runs the bench; answers with the file that it kept. @param {readonly string[]} args @returns {Promise<string>} */
async function bench(args) {
  console.log(`npm run bench -- ${args.join(' ')}   (load ${loadavg()[0]?.toFixed(1)})`)
  const child = spawn(process.execPath, ['scripts/bench.js', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
    process.stdout.write(chunk)
  })
  const [code] = await once(child, 'close')
  const file = /^kept in (.*)$/m.exec(out)?.[1]
  if (file === undefined) throw new Error(`the bench ended with ${code} and kept nothing`)
  return file
}

/** A part that was measured is known by its command without the servers' ports. @param {Part} part */
function keyOf({ measured }) {
  return measured.map(({ store, scenario }) => `${store} ${scenario}`).join(', ')
}

const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false }, only: { type: 'string' } } })
const numbers = values.only?.split(',').map(Number) ?? PARTS.map((_, i) => i + 1)
/** @type {Part[]} */
let run = values.only === undefined ? [] : await readRun()
const began = performance.now()
for (const number of numbers) {
  const partBegan = performance.now()
  const part = PARTS[number - 1]
  if (part === undefined) throw new Error(`--only ${number}: there are parts 1 to ${PARTS.length}`)
  for (const fresh of await measure(part, values.quick)) {
    const cases = (/** @type {Part} */ { measured }) =>
      measured.flatMap(({ series }) => series.flatMap(({ rounds }) => rounds.flatMap((round) => Object.keys(round))))
    const isSame = (/** @type {Part} */ old) =>
      keyOf(old) === keyOf(fresh) && String(cases(old)) === String(cases(fresh))
    run = [...run.filter((old) => !isSame(old)), fresh]
    // Kept after each part: if a part fails, the others are not lost.
    await writeRun(run)
  }
  console.log(`part ${number} took ${Math.round((performance.now() - partBegan) / 1_000)} s`)
}
for (const file of await writePage()) console.log(file)
console.log(`${Math.round((performance.now() - began) / 1_000)} s in all`)
