/**
 * `npm run matrix [-- --store postgres,redis --runtimes --only 'MySQL' --cache FOLDER --fresh --to
 * docs/reference/versions.md]`: the whole conformance suite over the built package on many versions of servers, or with
 * --runtimes on many runtimes. Servers and runtimes are fetched into a cache outside of the repository. The outcome is
 * written into docs/reference/versions.md. With `--give FILE` nothing is run: the file names newer servers, for
 * `holdfast torture --upgrade FILE`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { find } from '../packages/holdfast-lab/dist/src/testbed/find.js'
import { testbed } from '../packages/holdfast-lab/dist/src/testbed/testbed.js'
import { Cache } from './matrix/cache.js'
import { giveServers, newerServers } from './matrix/newer.js'
import { writePage } from './matrix/page.js'
import { RUNTIMES } from './matrix/runtimes.js'
import { SERVERS } from './matrix/servers.js'

/** How a store's server is started, and how each of its clients is told of it. */
const STORES = {
  postgres: {
    kind: 'postgres',
    start: (bed) => bed.postgres(),
    clients: { pg: (url) => ({ url }), 'postgres.js': (url) => ({ url, client: 'postgres' }) },
  },
  redis: { kind: 'redis', start: (bed) => bed.redis(), clients: { 'our own': (url) => url } },
  etcd: { kind: 'etcd', start: (bed) => bed.etcd(1), clients: { 'our own': (url) => url } },
  zookeeper: { kind: 'zookeeper', start: (bed) => bed.zookeeper(1), clients: { 'our own': (url) => url } },
  mysql: { kind: 'mariadb', start: (bed) => bed.mariadb(), clients: { mysql2: (url) => ({ url }) } },
}

const { values } = parseArgs({
  options: {
    store: { type: 'string', default: Object.keys(STORES).join(',') },
    runtimes: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    cache: { type: 'string' },
    fresh: { type: 'boolean', default: false },
    give: { type: 'string' },
    to: { type: 'string', default: 'docs/reference/versions.md' },
  },
})
const stores = values.store.split(',')
const unknown = stores.filter((store) => !Object.hasOwn(STORES, store))
if (unknown.length > 0) {
  console.error(`matrix: no store is called ${unknown.join(', ')}; stores are ${Object.keys(STORES).join(', ')}`)
  process.exit(64)
}
const cache = new Cache(values.cache, values.fresh)
const here = { version: process.versions.node, command: [process.execPath] }
const rows = []

function note(row, passed, failed) {
  rows.push({ ...row, passed, failed, date: new Date().toISOString().slice(0, 10) })
  writePage(values.to, rows)
}

/** Runs the suite in a process of its own, and notes the outcome. */
async function conform({ store, config, row, runtime: { command } }) {
  const started = performance.now()
  const [file, ...args] = [...command, 'scripts/matrix/conform.js', store, JSON.stringify(config)]
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  const [code] = await once(child, 'close')
  const last = out.trim().split('\n').at(-1) ?? ''
  const ended = last.startsWith('{') ? JSON.parse(last) : { refused: null, cases: 0, failed: [`ended with ${code}`] }
  const { refused, cases, failed } = ended
  const seconds = ((performance.now() - started) / 1000).toFixed(0)
  const said = refused === null ? `${cases - failed.length} of ${cases}` : 'refused by name'
  console.log(`${Object.values(row).join(', ')}: ${said}, ${seconds} s ${refused ?? ''}`)
  for (const name of failed) console.log(`  ✗ ${name}`)
  note(row, refused === null ? String(cases - failed.length) : 'refused', String(failed.length))
  if (failed.length > 0) process.exitCode = 1
}

/** One server, with each of its clients. */
async function runServer({ store, server, get }) {
  const { kind, start, clients } = STORES[store]
  const given = await get(cache)
  const version = (given ?? (await find(kind)))?.version
  if (version === undefined) throw new Error(`${kind} is not installed: npm run testbed -- ${kind} --install`)
  if (!`${server} ${version}`.includes(values.only)) return
  const bed = await testbed(given === null ? {} : { [kind]: given })
  try {
    const { url } = await start(bed)
    for (const [client, configOf] of Object.entries(clients)) {
      const row = { server, version, client, runtime: `Node ${here.version}` }
      await conform({ store, config: configOf(url), row, runtime: here })
    }
  } catch (error) {
    // A server that does not start gets a row, too. The others are run all the same.
    console.error(error)
    note({ server, version, client: '', runtime: `Node ${here.version}` }, 'did not start', '')
    process.exitCode = 1
  } finally {
    await bed.close()
  }
}

/** One runtime, on stores that need no server, one in a file, and one over the network. */
async function runRuntime({ runtime: name, get }) {
  const runtime = await get(cache)
  if (!`${name} ${runtime.version}`.includes(values.only)) return
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-matrix-run-'))
  const bed = await testbed({})
  try {
    const { url } = await bed.redis()
    const redis = (await find('redis'))?.version ?? ''
    const on = [
      { store: 'memory', server: 'memory', version: '', client: '', config: { name: 'matrix' } },
      { store: 'sqlite', server: 'SQLite', version: '', client: '', config: { path: join(folder, 'locks.db') } },
      { store: 'redis', server: 'Redis', version: redis, client: 'our own', config: url },
    ]
    for (const { store, config, ...server } of on) {
      await conform({ store, config, row: { ...server, runtime: `${name} ${runtime.version}` }, runtime })
    }
  } finally {
    await bed.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

if (values.give !== undefined) {
  const given = await newerServers(cache, { stores, only: values.only })
  await giveServers(values.give, given)
  const names = Object.entries(given).map(([kind, { version }]) => `${kind} ${version}`)
  console.log(`${values.give} names ${names.join(', ')}`)
  process.exit(0)
}
if (values.runtimes) for (const entry of RUNTIMES) await runRuntime(entry)
else for (const entry of SERVERS) if (stores.includes(entry.store)) await runServer(entry)
console.log(`${values.to} is written; what was fetched is in ${cache.folder}`)
