/** `holdfast torture`: puts locks through harsh conditions, and judges the outcome. */
import { randomBytes } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import {
  checkWhole,
  complain,
  type Given,
  nearest,
  print,
  refuseBoth,
  signalExit,
  type Syntax,
  usage,
} from 'holdfast/internal'
import { type GivenServers, readGiven } from '../testbed/given.ts'
import type { Backend } from '../torture/backend/backend.ts'
import { isSpawn, SPAWNS, spawnBackend } from '../torture/backend/spawn.ts'
import { type Judgement, judge, type Verdict } from '../torture/checker/judge.ts'
import { unavailable } from '../torture/conductor/choice.ts'
import type { NotRun, Progress } from '../torture/conductor/options.ts'
import { withDefaults } from '../torture/defaults.ts'
import { FORMATS } from '../torture/exchange/formats.ts'
import { readHistory } from '../torture/history/read.ts'
import { isNemesis, NEMESES, type NemesisName } from '../torture/nemesis/names.ts'
import { htmlReport } from '../torture/report/html.ts'
import { jsonReport } from '../torture/report/json.ts'
import { textReport } from '../torture/report/text.ts'
import { torture } from '../torture/torture.ts'
import { Ticker } from './ticker.ts'
import { exportHistory } from './torture-export.ts'

export const syntax: Syntax = {
  command: 'torture',
  options: {
    store: 'value',
    spawn: 'value',
    seconds: 'value',
    seed: 'value',
    clients: 'value',
    lines: 'value',
    ttl: 'value',
    nemesis: 'value',
    suspend: 'value',
    upgrade: 'value',
    history: 'value',
    report: 'value',
    format: 'value',
    to: 'value',
    line: 'value',
    open: 'flag',
    json: 'flag',
    quiet: 'flag',
  },
  operands: ['[check|export]', '[FILE]'],
  runs: false,
}

export const help: string = `Puts locks through harsh conditions, with real processes, and judges what came of it.

Usage: holdfast torture --spawn KIND [options]      starts servers of its own, and breaks them too
       holdfast torture --store URL [options]       your own server; only our client processes are stopped and killed
       holdfast torture check FILE [--report FILE.html] [--json]    judges the history of a run again
       holdfast torture export FILE --format FORMAT [--to OUT]      gives it to the checkers of others

  --spawn KIND        one of the kinds below
  --seconds 30        how long faults are made; starting, healing and judging come on top
  --seed N            what to draw chance from; default: another each time
  --clients 4         client processes
  --lines 4           lines: mutexes, read-write locks, semaphores
  --ttl MS            the lease; default: what suits the store
  --nemesis A,B       only these faults; default: all that can be had here
  --suspend SECONDS   how long suspend-holder stops a holder; default: ten leases
  --upgrade FILE      what upgrade-server upgrades to: a JSON file that names newer programs, as
                      npm run matrix -- --give FILE writes it
  --history FILE      where to keep the history (JSON lines); default: a file in a temporary folder
  --report FILE.html  draws holds, faults and violations
  --json              the verdict as one JSON object
  --quiet             no progress on stderr

  --format FORMAT     ${FORMATS.join(', ')}: for Porcupine, Knossos, Elle
  --to OUT            the file to write; default: stdout
  --line NAME         edn: which mutex; needed where there are several
  --open              list-append: the list that checks no tokens, instead of the one that does

Kinds: ${wrapped(SPAWNS.join(', '), 100)}

Faults: ${wrapped(NEMESES.join(', '), 100)}

Exit code: 0 it holds · 1 it is broken · 2 inconclusive (three runs, and no fault met a holder)
  64 usage · 69 store out of reach

Examples:
  holdfast torture --spawn redis --report redis.html
  holdfast torture --spawn etcd --nemesis failover,pause-holder --seconds 120
  holdfast torture --store postgres://localhost/app --seconds 60
  holdfast torture export history.jsonl --format edn --line mutex-1 --to mutex.edn`

const EXITS: Readonly<Record<Verdict, number>> = { valid: 0, invalid: 1, unknown: 2 }

export async function execute(given: Given): Promise<number> {
  if (given.operands.length > 0) return reread(given)
  refuseBoth(syntax, given, 'store', 'spawn')
  const whole = (name: string, otherwise: number, low: number, high: number): number => {
    const text = given.values.get(name) ?? String(otherwise)
    // A text that is no number is refused as it was typed.
    return checkWhole(`--${name}`, /^-?\d+$/.test(text) ? Number(text) : text, low, high)
  }
  const seconds = whole('seconds', 30, 1, 86_400)
  const seed = whole('seed', Math.floor(Math.random() * 1e6), 0, 2 ** 31)
  const clients = whole('clients', 4, 2, 64)
  const lines = whole('lines', 4, 1, 256)
  const nemeses = readNemeses(given)
  const ttlMs = given.values.has('ttl') ? whole('ttl', 0, 1, 86_400_000) : null
  const suspendMs = given.values.has('suspend') ? whole('suspend', 0, 1, 86_400) * 1_000 : null
  const newer = await readNewer(given)
  checkSpawn(given)
  for (const option of ['history', 'report']) checkFolder(given.values.get(option))
  const history = given.values.get('history') ?? defaultHistory(seed)
  const ticker = new Ticker(!given.flags.has('quiet'))
  const stop = new AbortController()
  let interrupted: number | null = null
  const signals = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) => ({
    signal,
    listener: () => {
      // Our servers, clients and folders end with us in any case.
      if (stop.signal.aborted) process.exit(signalExit(signal))
      stop.abort()
      interrupted = signalExit(signal)
      complain('stopping: what was broken is mended first (again: leave at once)')
    },
  }))
  for (const { signal, listener } of signals) process.on(signal, listener)
  let backend: Backend | null = null
  try {
    const kind = given.values.get('spawn')
    if (kind !== undefined && isSpawn(kind)) backend = await spawnBackend(kind, newer)
    if (interrupted !== null) return interrupted
    checkNemeses(nemeses, backend)
    const result = await torture(
      withDefaults({
        backend,
        ...(backend === null ? { url: given.values.get('store') ?? '' } : {}),
        ...(ttlMs === null ? {} : { ttlMs }),
        chaosMs: seconds * 1_000,
        seed,
        clients,
        lines,
        nemeses,
        suspendMs,
        history,
        onProgress: (progress: Progress) => ticker.show(progress),
        signal: stop.signal,
      }),
    )
    ticker.end()
    await tell(given, result.judgement, result.notRun)
    if (!given.flags.has('json')) print(`history: ${history} (holdfast torture check ${history})`)
    return interrupted ?? EXITS[result.judgement.verdict]
  } finally {
    ticker.end()
    for (const { signal, listener } of signals) process.off(signal, listener)
    await backend?.close()
  }
}

const VERBS = ['check', 'export']

/** What to do with the history of a run that is over. */
async function reread(given: Given): Promise<number> {
  const [verb = '', file] = given.operands
  if (!VERBS.includes(verb)) {
    const meant = nearest(verb, VERBS) ?? VERBS.join(' or ')
    throw usage(syntax, `torture does not know what to do with ${JSON.stringify(verb)}; did you mean ${meant}?`)
  }
  if (file === undefined) throw usage(syntax, `torture ${verb} needs a FILE`)
  if (!existsSync(file)) throw usage(syntax, `there is no file ${JSON.stringify(file)}`)
  if (!statSync(file).isFile()) throw usage(syntax, `${JSON.stringify(file)} is no file`)
  if (verb === 'export') {
    checkFolder(given.values.get('to'))
    return exportHistory(syntax, given, file)
  }
  const judgement = judge(readHistory(file))
  await tell(given, judgement, [])
  return EXITS[judgement.verdict]
}

async function tell(given: Given, judgement: Judgement, notRun: readonly NotRun[]): Promise<void> {
  const report = given.values.get('report')
  if (report !== undefined) await writeFile(report, htmlReport(judgement, notRun))
  print(given.flags.has('json') ? jsonReport(judgement, notRun) : textReport(judgement, notRun))
}

/** If none of the faults can be made here, the run would show nothing. */
function checkNemeses(nemeses: readonly NemesisName[] | null, backend: Backend | null): void {
  if (nemeses === null) return
  const lacks = nemeses.map((name) => unavailable(backend, name))
  if (lacks.includes(null)) return
  throw usage(
    syntax,
    `none of these faults can be made here: ${nemeses.map((name, at) => `${name} (${lacks[at]})`).join(', ')}`,
  )
}

async function readNewer(given: Given): Promise<GivenServers> {
  const file = given.values.get('upgrade')
  if (file === undefined) return {}
  if (!existsSync(file)) throw usage(syntax, `there is no file ${JSON.stringify(file)}`)
  return readGiven(file)
}

/** Before the run, and not after it. */
function checkFolder(file: string | undefined): void {
  if (file === undefined) return
  const folder = dirname(resolve(file))
  if (!existsSync(folder)) throw usage(syntax, `there is no folder ${JSON.stringify(folder)} to write a file into`)
}

function checkSpawn(given: Given): void {
  const kind = given.values.get('spawn')
  if (kind === undefined) {
    if (given.values.has('store')) return
    throw usage(syntax, 'torture needs --spawn KIND, or the --store URL of a server that may be loaded')
  }
  if (isSpawn(kind)) return
  const meant = nearest(kind, SPAWNS)
  throw usage(
    syntax,
    `--spawn ${JSON.stringify(kind)} is not ` +
      `known${meant === null ? `; there are ${SPAWNS.join(', ')}` : `; did you mean ${meant}?`}`,
  )
}

function readNemeses(given: Given): readonly NemesisName[] | null {
  const text = given.values.get('nemesis')
  if (text === undefined) return null
  return text.split(',').map((name) => {
    if (isNemesis(name)) return name
    const meant = nearest(name, NEMESES)
    throw usage(
      syntax,
      `--nemesis ${JSON.stringify(name)} is not ` +
        `known${meant === null ? `; there are ${NEMESES.join(', ')}` : `; did you mean ${meant}?`}`,
    )
  })
}

/** A name under which nobody else can have put anything; written at the end of a run only. */
function defaultHistory(seed: number): string {
  return join(tmpdir(), `holdfast-torture-${seed}-${randomBytes(6).toString('hex')}.jsonl`)
}

function wrapped(text: string, width: number): string {
  const lines: string[] = ['']
  for (const word of text.split(' ')) {
    const last = lines.length - 1
    if (`${lines[last]} ${word}`.length > width) lines.push(`  ${word}`)
    else lines[last] = lines[last] === '' ? word : `${lines[last]} ${word}`
  }
  return lines.join('\n')
}
