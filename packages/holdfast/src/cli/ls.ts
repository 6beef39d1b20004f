/** `holdfast ls`: locks with their holders and waiters. */
import { UnsupportedError } from '../contract/errors.ts'
import type { LineView } from '../contract/driver.ts'
import type { Holdfast } from '../holdfast.ts'
import type { JobRun } from '../kit/once/job.ts'
import type { Given, Syntax } from './args.ts'
import { STORE_HELP } from './command.ts'
import { EXIT } from './exit.ts'
import { isStyled, print } from './output.ts'
import { withStore } from './store.ts'
import { jobTable, lineJson, lineTable } from './view.ts'

export const syntax: Syntax = {
  command: 'ls',
  options: { store: 'value', json: 'flag' },
  operands: ['[PREFIX]'],
  runs: false,
}

export const help: string = `Lists locks with their holders and waiters, and the last runs of scheduled jobs.

Usage: holdfast ls [PREFIX] [--store URL] [--json]

  PREFIX          only locks whose names begin with it
${STORE_HELP}
  --json          one object for each lock: { name, capacity, holders, waiters }; tokens are decimal strings;
                  then one for each job: { job, dueMs, startedMs, endedMs, ok, host, pid }

Examples:
  holdfast ls
  holdfast ls stock: --store redis://localhost:6379
  holdfast ls --json | jq -r 'select(.waiters != []) | .name'`

export function execute(given: Given): Promise<number> {
  const prefix = given.operands[0] ?? ''
  return withStore(given, async (hf) => {
    const lines: LineView[] = []
    for await (const line of hf.list({ prefix })) {
      if (given.flags.has('json')) print(lineJson(line))
      else lines.push(line)
    }
    const jobs = await jobsOf(hf, prefix)
    if (given.flags.has('json')) {
      for (const [job, run] of jobs) print(JSON.stringify({ job, ...run }))
      return EXIT.ok
    }
    lines.sort((a, b) => (a.name < b.name ? -1 : 1))
    if (lines.length > 0) print(lineTable(lines, isStyled()))
    if (jobs.length > 0) print(`${lines.length > 0 ? '\n' : ''}${jobTable(jobs, Date.now(), isStyled())}`)
    if (lines.length + jobs.length === 0)
      print(
        prefix === ''
          ? 'nobody holds or waits for a lock'
          : `nobody holds or waits for a lock whose name begins with ${prefix}`,
      )
    return EXIT.ok
  })
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
