/** `holdfast once`: runs a program unless somebody, on any machine, has run it in this period. */
import { checkName } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'
import { Cron } from '../kit/once/cron.ts'
import { checkEvery, periodOf } from '../kit/once/once.ts'
import type { Given, Syntax } from './args.ts'
import { runChild } from './child.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE, value } from './option.ts'
import { complain } from './output.ts'
import { withStore } from './store.ts'

export const syntax: Syntax = {
  command: 'once',
  options: {
    every: value('1h', 'the period; it begins at whole multiples of itself since 1970, in UTC'),
    cron: value("'…'", 'the period begins at these times instead; five fields as in a crontab, or @daily'),
    'time-zone': value('Z', 'the time zone of --cron, such as Europe/Berlin; default UTC'),
    rerun: flag('run again if the process that ran it in this period died in the middle'),
    quiet: flag('say nothing when there is nothing to do'),
    store: STORE,
  },
  operands: ['NAME'],
  runs: true,
}

export const help: string = `Runs a program unless somebody, on any machine, has run it in this period.

Usage: holdfast once NAME --every 1h | --cron '30 2 * * *' [options] -- program [argument …]

${optionsHelp(syntax.options)}

Put the same line into the crontab of every machine: the first to come runs it. The period is told by each machine's own
clock, so clocks may differ by less than a period. It is written down before the program starts: a program that fails,
or dies, is not run again before the next period, unless --rerun is given. The last runs are shown by \`holdfast ls\`.

Exit code: the program's own, 0 when somebody else has run it, and
  64 usage · 69 store out of reach · 70 internal · 126 program can't be run · 127 program not found

Example, in a crontab:
  0 * * * *  holdfast once hourly-report --every 1h --store redis://locks:6379 -- ./report.sh`

/** The program has ended with another code than 0: the list of last runs shows that. */
class ProgramFailed extends Error {}

export async function execute(given: Given): Promise<number> {
  const name = checkName('NAME', given.operands[0])
  const { dueMs, untilMs } = periodNow(given, Date.now())
  return withStore(given, async (hf) => {
    let code: number = EXIT.ok
    const job = hf.job(name)
    let ran = true
    try {
      const options = { rerun: given.flags.has('rerun'), untilMs, waitMs: 0 }
      const outcome = await job.attempt(dueMs, options, async () => {
        code = await runChild(given.program)
        if (code !== EXIT.ok) throw new ProgramFailed()
      })
      ran = outcome === 'ran'
    } catch (error) {
      if (!(error instanceof ProgramFailed)) throw error
    }
    if (!ran && !given.flags.has('quiet')) {
      const last = await job.lastRun()
      const ago =
        last === null ? '' : `, ${formatDuration(Math.max(0, Date.now() - last.startedMs))} ago on ${last.host}`
      complain(`${name} has been run in this period${ago}`)
    }
    return code
  })
}

/** The period that contains this moment. */
function periodNow({ values }: Given, nowMs: number): { readonly dueMs: number; readonly untilMs: number } {
  const [every, cron, timeZone] = ['every', 'cron', 'time-zone'].map((name) => values.get(name))
  if ((every === undefined) === (cron === undefined)) {
    throw new UsageError('--every or --cron says how often, such as --every 1h; see holdfast once --help')
  }
  if (cron === undefined) {
    if (timeZone !== undefined) throw new UsageError('--time-zone needs --cron')
    const everyMs = checkEvery(parseDuration('--every', every as string))
    const dueMs = periodOf(everyMs, nowMs)
    return { dueMs, untilMs: dueMs + everyMs }
  }
  const times = new Cron(cron, timeZone)
  return { dueMs: times.last(nowMs) ?? 0, untilMs: times.next(nowMs) ?? Number.POSITIVE_INFINITY }
}
