/**
 * `npm run torture:long [-- --minutes 10 --stores redis,etcd --seed 1 --clients 4 --at-once 1 --suspend 120 --nemesis
 * disk-full,oom-kill --upgrade --to docs/explain/evidence.md]`: tortures each store for ten minutes (`--minutes 60`: an
 * hour) and writes what came of it into docs/explain/evidence.md. A store that is not asked for keeps what stands
 * there. `--suspend`: how many seconds a holder is suspended (default: ten leases); `--upgrade`: servers are upgraded
 * in place to what the matrix fetches; `--nemesis`: these faults only. Needs a build.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Cache } from './matrix/cache.js'
import { giveServers, newerServers } from './matrix/newer.js'
import { SPAWNS } from '../packages/holdfast-lab/dist/src/torture/backend/spawn.js'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    stores: { type: 'string', default: SPAWNS.join(',') },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    clients: { type: 'string', default: '4' },
    suspend: { type: 'string' },
    nemesis: { type: 'string' },
    upgrade: { type: 'boolean', default: false },
    'at-once': { type: 'string', default: '1' },
    to: { type: 'string', default: 'docs/explain/evidence.md' },
  },
})
const seconds = Math.round(Number(values.minutes) * 60)
const atOnce = Number(values['at-once'])
const stores = values.stores.split(',')
const unknown = stores.filter((store) => !SPAWNS.includes(store))
if (!(seconds >= 1 && atOnce >= 1) || unknown.length > 0) {
  const why =
    unknown.length > 0 ? `no store is called ${unknown.join(', ')}` : '--minutes and --at-once are numbers above 0'
  console.error(`torture:long: ${why}; stores are ${SPAWNS.join(', ')}`)
  process.exit(64)
}
const command =
  `npm run torture:long -- --minutes ${values.minutes} --stores ${values.stores} --seed ${values.seed} --clients ` +
  `${values.clients} --at-once ${atOnce}` +
  (values.suspend === undefined ? '' : ` --suspend ${values.suspend}`) +
  (values.nemesis === undefined ? '' : ` --nemesis ${values.nemesis}`) +
  (values.upgrade ? ' --upgrade' : '')
const folder = join(tmpdir(), `holdfast-torture-long-${process.pid}`)
mkdirSync(folder, { recursive: true })

/** What servers are upgraded to, fetched as the matrix fetches it; null: nothing. */
let upgrade = null
if (values.upgrade) {
  upgrade = join(folder, 'newer.json')
  await giveServers(upgrade, await newerServers(new Cache()))
}

/** Runs one store; resolves with what it says of itself. */
function torture(store) {
  const args = ['torture', '--spawn', store, '--seconds', String(seconds), '--seed', values.seed]
  args.push('--clients', values.clients, '--json')
  if (values.suspend !== undefined) args.push('--suspend', values.suspend)
  if (values.nemesis !== undefined) args.push('--nemesis', values.nemesis)
  if (upgrade !== null) args.push('--upgrade', upgrade)
  args.push('--history', join(folder, `${store}.jsonl`), '--report', join(folder, `${store}.html`))
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['packages/holdfast/dist/cli.cjs', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
    })
    child.on('close', (code) => {
      const line = out.trim().split('\n').at(-1) ?? ''
      const said = line.startsWith('{')
        ? JSON.parse(line)
        : { verdict: `did not run (exit code ${code})`, counts: null }
      resolve(evidence(store, said))
    })
  })
}

/** What is kept of a run: all that the page shows. */
function evidence(
  store,
  { verdict, doubts = [], versions = '', seed, ttlMs, seconds: tookS = 0, counts, notRun = [] },
) {
  const load = { node: process.version, cores: cpus().length, atOnce: Math.min(atOnce, stores.length) }
  return { store, command, verdict, doubts, versions, seed, ttlMs, seconds, tookS, load, counts, notRun }
}

const listed = (counts) =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || 'none'

const HEADS = ['store', 'verdict', 'length', 'operations', 'faults (met a holder)', 'violations', 'exposures']
HEADS.push('served again within', 'wake-ups per release')

/** As the formatter has it. */
function table(rows) {
  const widths = HEADS.map((head, at) => Math.max(head.length, ...rows.map((cells) => cells[at].length)))
  const line = (cells) => `| ${cells.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`
  return [line(HEADS), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)]
}

function row({ store, verdict, seconds: asked, tookS, counts }) {
  if (counts === null) return [store, verdict, `${asked} s`, '', '', '', '', '', '']
  const struck = Object.values(counts.faults).reduce((sum, fault) => sum + fault.struck, 0)
  const hit = Object.values(counts.faults).reduce((sum, fault) => sum + fault.hit, 0)
  const { releases, wakes } = counts.wakeUps
  return [
    store,
    verdict,
    `${asked} s of faults, ${Math.round(tookS)} s in all`,
    `${counts.visits} visits, ${counts.granted} granted, ${counts.lost} lost, ${counts.effects} effects, ` +
      `${counts.stale} refused as stale`,
    `${struck} (${hit})`,
    listed(counts.violations),
    listed(counts.exposures),
    `${Math.round(counts.healMs)} ms`,
    releases === 0 ? 'no crowd seen' : (wakes / releases).toFixed(2),
  ]
}

function details({ store, command, doubts, versions, seed, ttlMs, load, counts, notRun }) {
  const faults = Object.entries(counts?.faults ?? {}).map(([name, { struck, hit }]) => `${name} ${struck} (${hit})`)
  const besides = load.atOnce === 1 ? 'alone' : `beside ${load.atOnce - 1} other`
  return [
    `### ${store}`,
    '',
    `    ${command}`,
    '',
    `${versions}; lease ${ttlMs} ms; judged run: seed ${seed}; Node ${load.node}, ${load.cores} cores, ${besides}.`,
    '',
    ...(doubts.length === 0 ? [] : [`- Doubts: ${doubts.join('; ')}.`]),
    `- Faults: ${faults.join(', ') || 'none'}.`,
    `- Not run: ${notRun.map(({ nemesis, why }) => `${nemesis} (${why})`).join('; ') || 'nothing'}.`,
    '',
  ]
}

const BEGIN = '<!-- torture:long begins; written by scripts/torture-long.js -->'
const END = '<!-- torture:long ends -->'
/** What the page is made of, so that the next run can add to it. */
const KEPT = /<!-- torture:long kept (.*) -->/

/** Everything between the marks is ours; a file without them gets them at its end. */
function write(results) {
  let text = '# Evidence\n'
  try {
    text = readFileSync(values.to, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const kept = JSON.parse(KEPT.exec(text)?.[1] ?? '[]')
  const fresh = new Map([...kept, ...results].map((result) => [result.store, result]))
  const all = SPAWNS.flatMap((store) => fresh.get(store) ?? [])
  const missing = SPAWNS.filter((store) => !fresh.has(store))
  const block = [
    BEGIN,
    `<!-- torture:long kept ${JSON.stringify(all).replaceAll('--', '\\u002d\\u002d')} -->`,
    '',
    ...table(all.map(row)),
    '',
    ...(missing.length === 0 ? [] : [`Never run: ${missing.join(', ')}.`, '']),
    ...all.flatMap(details),
    END,
  ].join('\n')
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)]
  const next =
    from >= 0 && to > from
      ? text.slice(0, from) + block + text.slice(to + END.length)
      : `${text.trimEnd()}\n\n${block}\n`
  writeFileSync(values.to, next)
}

const results = []
const queue = [...stores]
async function work() {
  for (let store = queue.shift(); store !== undefined; store = queue.shift()) {
    console.log(`${store} …`)
    const result = await torture(store)
    results.push(result)
    write(results)
    console.log(`${store}: ${result.verdict}`)
  }
}
await Promise.all(Array.from({ length: atOnce }, work))
console.log(`${values.to} is written; histories and reports are in ${folder}`)
if (results.some(({ verdict }) => verdict !== 'valid')) process.exitCode = 1
