/** `holdfast ls`: locks with their holders and waiters. */
import { UnsupportedError } from '../contract/errors.ts'
import type { LineView } from '../contract/driver.ts'
import type { Holdfast } from '../holdfast.ts'
import type { JobRun } from '../kit/once/job.ts'
import { type Given, type Syntax, usage } from './args.ts'
import { followChanges } from './changes.ts'
import { Ending } from './ending.ts'
import { EXIT } from './exit.ts'
import { INTERVAL, readInterval } from './interval.ts'
import { type LockLook, looks } from './looks.ts'
import { flag, optionsHelp, STORE } from './option.ts'
import { isStyled, print } from './output.ts'
import { hasScreen, Screen } from './screen.ts'
import { withStore } from './store.ts'
import { clip, printable } from './table.ts'
import { jobTable, lineJson, lineTable } from './view.ts'

export const syntax: Syntax = {
  command: 'ls',
  options: {
    store: STORE,
    json: flag(
      'one object for each lock: { name, capacity, holders, waiters }; tokens are decimal strings; then one for each ' +
        'job: { job, dueMs, startedMs, endedMs, ok, host, pid }',
    ),
    watch: flag('look again and again; on a terminal in place, else printed when something has changed'),
    interval: INTERVAL,
  },
  operands: ['[PREFIX]'],
  runs: false,
}

export const help: string = `Lists locks with their holders and waiters, and the last runs of scheduled jobs.

Usage: holdfast ls [PREFIX] [--store URL] [--json] [--watch [--interval 2s]]

  PREFIX          only locks whose names begin with it
${optionsHelp(syntax.options)}

With --watch an outage of the store is shown, and ls goes on when the store is back. With --json it prints the objects
of all locks that have changed; a lock that is free again has capacity 0. holdfast top has keys to sort and filter.

Examples:
  holdfast ls
  holdfast ls stock: --store redis://localhost:6379
  holdfast ls --watch --interval 5s
  holdfast ls --json | jq -r 'select(.waiters != []) | .name'`

export async function execute(given: Given): Promise<number> {
  const prefix = given.operands[0] ?? ''
  const intervalMs = readInterval(given)
  if (given.flags.has('watch')) return withStore(given, (hf) => watch(given, hf, prefix, intervalMs))
  if (given.values.has('interval')) throw usage(syntax, '--interval is for --watch')
  return withStore(given, async (hf) => {
    const lines: LineView[] = []
    for await (const line of hf.list({ prefix })) {
      if (given.flags.has('json')) print(lineJson(line))
      else lines.push(line)
    }
    const jobs = await jobsOf(hf, prefix)
    if (given.flags.has('json')) for (const [job, run] of jobs) print(JSON.stringify({ job, ...run }))
    else print(listing(lines, jobs, prefix))
    return EXIT.ok
  })
}

type Jobs = readonly (readonly [name: string, run: JobRun])[]

function listing(lines: readonly LineView[], jobs: Jobs, prefix: string): string {
  const sorted = lines.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const tables = [
    ...(lines.length > 0 ? [lineTable(sorted, isStyled())] : []),
    ...(jobs.length > 0 ? [jobTable(jobs, Date.now(), isStyled())] : []),
  ]
  if (tables.length > 0) return tables.join('\n\n')
  const which = prefix === '' ? '' : ` whose name begins with ${printable(prefix)}`
  return `nobody holds or waits for a lock${which}`
}

function watch(given: Given, hf: Holdfast, prefix: string, intervalMs: number): Promise<number> {
  return Ending.use(async (ending) => {
    const all = looks(hf, prefix, intervalMs, ending.signal)
    if (given.flags.has('json'))
      await followChanges(all, ({ changed }) => changed.forEach((line) => print(lineJson(line))))
    else if (hasScreen()) await inPlace(all, prefix, ending)
    else {
      await followChanges(all, ({ lines, seenMs }) =>
        print(`${new Date(seenMs).toISOString()}\n${listing(lines, [], prefix)}\n`),
      )
    }
    return EXIT.ok
  })
}

async function inPlace(all: AsyncIterable<LockLook>, prefix: string, ending: Ending): Promise<void> {
  let look: LockLook | null = null
  const paint = (): void => {
    if (look === null) return
    const { columns, rows } = screen.size
    const outage = look.outage === null ? '' : `  OUTAGE: ${printable(look.outage.message)}`
    const head = `${new Date(look.seenMs).toTimeString().slice(0, 8)}  q quits${outage}`
    const page = [head, '', ...listing(look.lines, [], prefix).split('\n')].map((row) => clip(row, columns))
    screen.show(page.length <= rows ? page : [...page.slice(0, rows - 1), `${page.length - rows + 1} more`])
  }
  const screen = new Screen((key) => {
    if (key === 'suspend') screen.suspend()
    else if (key === 'q' || key === 'interrupt') ending.end()
    else paint()
  })
  try {
    for await (look of all) paint()
  } finally {
    screen.close()
  }
}

async function jobsOf(hf: Holdfast, prefix: string): Promise<[name: string, run: JobRun][]> {
  try {
    return Object.entries(await hf.jobs()).filter(([name]) => name.startsWith(prefix))
  } catch (error) {
    // A store without cells has no jobs.
    if (error instanceof UnsupportedError) return []
    throw error
  }
}
