/** The arguments of `holdfast run`. */
import { CAPACITY_MAX } from '../acquire/spec.ts'
import { type Given, refuseBoth, type Syntax, usage } from './args.ts'
import type { Claim } from './claim.ts'
import { flag, optionsHelp, value } from './option.ts'
import { readTask, TASK_OPTIONS, type Task } from './task.ts'

export const syntax: Syntax = {
  command: 'run',
  options: {
    ...TASK_OPTIONS,
    shared: flag('share the lock with others that say --shared; a program without --shared has it alone'),
    permits: value('k/n', 'take k of the n permits of the lock; all its users must agree on n'),
  },
  operands: ['NAME'],
  runs: true,
}

export const help: string = `Runs a program while holding a lock, and stops the program if the lock is lost.

Usage: holdfast run NAME [options] -- program [argument …]

${optionsHelp(syntax.options)}

The program gets HOLDFAST_LINE, HOLDFAST_TOKEN (the fencing token: larger than that of every earlier holder),
HOLDFAST_PLACE (which guards ask for as well), HOLDFAST_TTL_MS and HOLDFAST_STORE (without a password) in its
environment, and the signals that are sent to holdfast.
The lock is released when the program itself has ended; what it has left running in the background is not waited for.
A wait of more than a second is told on stderr: who holds the lock, since when, and the position in the queue.

Exit code: the program's own, 128+n if signal n ended it (or the wait), and
  64 usage · 69 store out of reach · 70 internal · 75 not acquired (--busy-exit) · 79 lock lost, program stopped
  124 --max-hold is over, program stopped · 126 program can't be run · 127 program not found

Examples:
  holdfast run nightly --no-wait -- ./backup.sh
  holdfast run deploy --wait 10m --label "$USER" -- make deploy
  holdfast run reports --permits 1/3 -- ./report.sh      three at a time
  holdfast run db --shared -- ./read.sh                  readers together, \`holdfast run db\` alone`

export interface Plan extends Task {
  readonly claim: Claim
}

/** Refuses wrong arguments before anything is started. */
export function readPlan(given: Given): Plan {
  refuseBoth(syntax, given, 'shared', 'permits')
  return { ...readTask(syntax, given), claim: readClaim(given) }
}

function readClaim(given: Given): Claim {
  const text = given.values.get('permits')
  if (text === undefined) return { kind: given.flags.has('shared') ? 'shared' : 'exclusive' }
  const match = /^(\d{1,7})\/(\d{1,7})$/.exec(text)
  const permits = Number(match?.[1])
  const of = Number(match?.[2])
  if (!(permits >= 1 && permits <= of && of <= CAPACITY_MAX)) {
    throw usage(syntax, `--permits must be k/n, such as 1/3, with 1 <= k <= n, given ${JSON.stringify(text)}`)
  }
  return { kind: 'permits', permits, of }
}
