/** `holdfast elect`: runs a program while leading, and again after each loss. */
import { checkText } from '../contract/check.ts'
import { StoreUnreachableError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import type { Election } from '../locks/election.ts'
import type { Given, Syntax } from './args.ts'
import { Guard } from './guard.ts'
import { flag, optionsHelp, value } from './option.ts'
import { complain } from './output.ts'
import { Stage } from './stage.ts'
import { supervise } from './supervise.ts'
import { readTask, TASK_OPTIONS, type Task } from './task.ts'

export const syntax: Syntax = {
  command: 'elect',
  options: {
    ...TASK_OPTIONS,
    value: value('TEXT', 'what others see of this candidate, such as an address; at most 512 bytes'),
    once: flag('end with 79 when the lead is lost, instead of standing again'),
    'max-hold': value('1h', 'resign after this long and stand again, behind the others; with --once, end with 124'),
  },
  operands: ['NAME'],
  runs: true,
}

export const help: string = `Runs a program while leading; stops the program when the lead is lost, and stands again.

Usage: holdfast elect NAME [options] -- program [argument …]

${optionsHelp(syntax.options)}

Start it on every machine: one of them leads and runs the program, and another takes over when it resigns or dies. The
program gets what \`holdfast run\` gives: HOLDFAST_LINE, HOLDFAST_TOKEN, HOLDFAST_PLACE, HOLDFAST_TTL_MS and
HOLDFAST_STORE, and the signals. When the program ends by itself, elect resigns and ends with it. Once it has led, it
also stands again when the store could not be reached.

Exit code: the program's own, 128+n if signal n ended it (or the wait), and
  64 usage · 69 store out of reach · 70 internal · 75 not elected in time (--busy-exit)
  79 lead lost, program stopped (with --once) · 124 --max-hold is over (with --once)
  126 program can't be run · 127 program not found

Examples:
  holdfast elect scheduler --value "$(hostname):8080" -- ./scheduler
  holdfast elect migrations --once --no-wait -- ./migrate.sh
  holdfast show scheduler                                 who leads, and who stands behind`

/** How long to wait before a store that is out of reach is asked again. */
const PAUSE_MS = 1_000

export function execute(given: Given): Promise<number> {
  const task = readTask(syntax, given)
  const value = checkText('--value', given.values.get('value') ?? '', 512)
  const isOnce = given.flags.has('once')
  return Stage.use(task, async (stage) => {
    let guard = new Guard()
    try {
      const election = (await stage.open()).election(task.name, { value })
      for (let isFirst = true; ; isFirst = false) {
        const held = await campaign(election, task, stage, isFirst)
        const end = await supervise(task, held, guard, stage)
        if (end.why === null) return end.exit
        // Somebody has asked for the end while the program was being stopped: then it is not started again.
        const isLast = isOnce || stage.signals.hasEnding
        complain(`${end.why}; ${end.fate}${isLast ? '' : '; standing for election again'}`)
        if (isLast) return end.exit
        // The program is stopped a little before the lease has run out. Release, so that this candidate does not wait
        // for its own old place.
        await held.release()
        // Each term has a guardian of its own: the last guardian has ended with its program.
        guard.dismiss()
        guard = new Guard()
      }
    } finally {
      guard.dismiss()
    }
  })
}

/** A leader that lost its lead because the store was out of reach stands again when the store is back. */
async function campaign(election: Election, task: Task, stage: Stage, isFirst: boolean): Promise<Held> {
  const { interrupt } = stage.signals
  for (let isTold = false; ; isTold = true) {
    try {
      return await stage.wait((signal) => election.campaign({ waitMs: task.waitMs, signal }))
    } catch (error) {
      if (isFirst || !(error instanceof StoreUnreachableError)) throw error
      if (!isTold) complain(`${error.message}; trying again`)
    }
    await pause(interrupt)
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(end, PAUSE_MS)
    function end(): void {
      signal.removeEventListener('abort', abort)
      resolve()
    }
    function abort(): void {
      clearTimeout(timer)
      reject(signal.reason as Error)
    }
    signal.addEventListener('abort', abort, { once: true })
    if (signal.aborted) abort()
  })
}
