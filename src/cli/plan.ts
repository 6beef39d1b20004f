/** What `holdfast run` is asked for on the command line. */
import { basename } from 'node:path'
import { checkName, checkWhole } from '../core/check.ts'
import { type Given, refuseBoth, type Syntax, usage } from './args.ts'
import type { Claim } from './claim.ts'
import { STORE_HELP } from './command.ts'
import { parseDuration } from './duration.ts'
import { storeUrl, urlOption } from './store.ts'

export const syntax: Syntax = {
  command: 'run',
  options: {
    store: 'value',
    ttl: 'value',
    wait: 'value',
    'no-wait': 'flag',
    shared: 'flag',
    permits: 'value',
    grace: 'value',
  },
  operands: ['NAME'],
  runs: true,
}

export const help: string = `Runs a program while holding a lock, and stops the program if the lock is lost.

Usage: holdfast run NAME [options] -- program [argument …]

${STORE_HELP}
  --ttl 30s       the lease: how long others wait for a machine that has died; renewed while the program runs
  --wait 10s      give up after this long; without it, waits for ever
  --no-wait       give up at once when others have the lock
  --shared        share the line with others that say --shared; those that don't still have it alone
  --permits k/n   take k of the n permits of the line; all its users must agree on n
  --grace 5s      how long a program that must stop has, from TERM to KILL

The program gets HOLDFAST_LINE, HOLDFAST_TOKEN (the fencing token: larger than that of every earlier holder),
HOLDFAST_TTL_MS and HOLDFAST_STORE (without a password) in its environment, and the signals that are sent to holdfast.
The lock is released when the program itself has ended; what it has left running in the background is not waited for.

Exit code: the program's own, 128+n if signal n ended it (or the wait), and
  64 usage · 69 store out of reach · 70 internal · 75 not acquired · 79 lock lost, program stopped
  126 program can't be run · 127 program not found

Examples:
  holdfast run nightly --no-wait -- ./backup.sh
  holdfast run deploy --wait 10m -- make deploy
  holdfast run reports --permits 1/3 -- ./report.sh      three at a time
  holdfast run db --shared -- ./read.sh                  readers together, \`holdfast run db\` alone`

export interface Plan {
  readonly name: string
  readonly store: string
  readonly claim: Claim
  readonly ttlMs: number
  readonly label: string
  readonly waitMs: number
  readonly graceMs: number
  readonly file: string
  readonly args: readonly string[]
}

const TTL_MS = 30_000
const GRACE_MS = 5_000
/** Refuses what is wrong, before anything is started. */
export function readPlan(given: Given): Plan {
  refuseBoth(syntax, given, 'wait', 'no-wait')
  refuseBoth(syntax, given, 'shared', 'permits')
  const time = (option: string, otherwise: number): number => {
    const text = given.values.get(option)
    return text === undefined ? otherwise : parseDuration(`--${option}`, text)
  }
  const [file = '', ...args] = given.program
  if (file === '') throw usage(syntax, 'the program to run is empty')
  const store = storeUrl(given)
  // What is said of the lease in the URL counts, unless the command line says otherwise.
  const ttlMs = time('ttl', Number(urlOption(store, 'ttlMs') ?? TTL_MS))
  return {
    name: checkName('NAME', given.operands[0]),
    store,
    claim: readClaim(given),
    ttlMs: checkWhole('--ttl in milliseconds', ttlMs, 1, 86_400_000),
    label: urlOption(store, 'label') ?? label(file),
    waitMs: given.flags.has('no-wait') ? 0 : time('wait', Number.POSITIVE_INFINITY),
    graceMs: time('grace', GRACE_MS),
    file,
    args,
  }
}

function readClaim(given: Given): Claim {
  const text = given.values.get('permits')
  if (text === undefined) return { kind: given.flags.has('shared') ? 'shared' : 'exclusive' }
  const match = /^(\d{1,7})\/(\d{1,7})$/.exec(text)
  const permits = Number(match?.[1])
  const of = Number(match?.[2])
  if (!(permits >= 1 && permits <= of && of <= 1_000_000)) {
    throw usage(syntax, `--permits must be k/n, such as 1/3, with 1 <= k <= n, given ${JSON.stringify(text)}`)
  }
  return { kind: 'permits', permits, of }
}

/** Shown to people by `ls`. Arguments are left out: they may hold a password. */
function label(file: string): string {
  const name = basename(file)
  return Buffer.byteLength(name) <= 200 ? name : name.slice(0, 50)
}
