/**
 * `npm run torture:long [-- --seconds 600 --stores redis,etcd --seed 1 --to docs/evidence.md]`: tortures each store for ten minutes, one after the
 * other, and writes the table of docs/evidence.md. Needs a build.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const ALL = 'sqlite,redis,sentinel,cluster,redlock,etcd,zookeeper,postgres,mysql'
const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    stores: { type: 'string', default: ALL },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e6)) },
    clients: { type: 'string', default: '4' },
    to: { type: 'string', default: 'docs/evidence.md' },
  },
})
const folder = join(tmpdir(), `holdfast-torture-long-${process.pid}`)
mkdirSync(folder, { recursive: true })

/** Runs one store; resolves with what it says of itself. */
function torture(store) {
  const args = [
    'torture',
    '--spawn',
    store,
    '--seconds',
    values.seconds,
    '--seed',
    values.seed,
    '--clients',
    values.clients,
  ]
  args.push('--json', '--history', join(folder, `${store}.jsonl`), '--report', join(folder, `${store}.html`))
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['dist/src/cli/main.js', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      out += text
    })
    child.on('close', (code) => {
      const line = out.trim().split('\n').at(-1) ?? ''
      // The name and not the URL, which says only which port was free.
      resolve({ ...(line.startsWith('{') ? JSON.parse(line) : {}), store, code })
    })
  })
}

const sum = (counts) => Object.values(counts).reduce((total, count) => total + count, 0)
const listed = (counts) =>
  Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ') || '0'

function row(result) {
  if (result.counts === undefined) return `| ${result.store} | did not run (exit code ${result.code}) | | | | | | |`
  const { counts } = result
  const faults = Object.entries(counts.faults).map(([name, { struck, hit }]) => `${name} ${struck} (${hit})`)
  return [
    '',
    result.store,
    result.versions,
    `${result.verdict}, ${Math.round(result.seconds)} s, seed ${result.seed}`,
    `${counts.visits} visits, ${counts.granted} granted, ${counts.lost} lost, ${counts.effects} effects, ${counts.stale} stale refused`,
    `${sum(Object.fromEntries(Object.entries(counts.faults).map(([name, { struck }]) => [name, struck])))}: ${faults.join(', ')}`,
    listed(counts.violations),
    listed(counts.exposures),
    `${Math.round(counts.healMs)} ms`,
    '',
  ]
    .join(' | ')
    .trim()
}

const BEGIN = '<!-- torture:long begins; written by scripts/torture-long.js -->'
const END = '<!-- torture:long ends -->'

/** Everything between the marks is ours; a file without them gets them at its end. */
function write(results) {
  const command = `npm run torture:long -- --seconds ${values.seconds} --stores ${values.stores} --seed ${values.seed} --clients ${values.clients}`
  const table = [
    BEGIN,
    '',
    'Made by',
    '',
    `    ${command}`,
    '',
    `on Node ${process.version}, ${process.platform}; ${values.seconds} seconds of faults for each store. In brackets: how many of the faults met a holder.`,
    '',
    '| store | versions | run | operations | faults by kind | violations | exposures | lines served again within |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...results.map(row),
    '',
    ...results.flatMap(({ store, notRun = [] }) => [
      `Not run on ${store}: ${notRun.map(({ nemesis, why }) => `${nemesis} (${why})`).join('; ') || 'nothing'}.`,
      '',
    ]),
    END,
  ].join('\n')
  let text = '# Evidence\n'
  try {
    text = readFileSync(values.to, 'utf8')
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)]
  const next =
    from >= 0 && to > from
      ? text.slice(0, from) + table + text.slice(to + END.length)
      : `${text.trimEnd()}\n\n${table}\n`
  writeFileSync(values.to, next)
}

const results = []
for (const store of values.stores.split(',')) {
  console.log(`${store} …`)
  const result = await torture(store)
  results.push(result)
  write(results)
  console.log(`${store}: ${result.verdict ?? `exit code ${result.code}`}`)
}
console.log(`${values.to} is written; histories and reports are in ${folder}`)
if (results.some(({ verdict }) => verdict !== 'valid')) process.exitCode = 1
