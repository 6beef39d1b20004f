/** A program that runs under a hold, as the arguments of `run` and `elect` describe it. */
import { basename } from 'node:path'
import { checkName, checkText, checkWhole } from '../contract/check.ts'
import { type Given, refuseBoth, type Syntax, usage } from './args.ts'
import { parseDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { flag, type Option, STORE, value } from './option.ts'
import { storeUrl, urlOption } from './store.ts'

export interface Task {
  readonly name: string
  readonly store: string
  readonly ttlMs: number
  readonly label: string
  readonly waitMs: number
  /** How long the program may have the lock; Infinity: as long as it likes. */
  readonly maxHoldMs: number
  readonly graceMs: number
  /** The exit code if others have the lock. */
  readonly busyExit: number
  /** Whether to say nothing of the wait, even if it was in vain. */
  readonly quiet: boolean
  readonly file: string
  readonly args: readonly string[]
}

/** The options of a task. */
export const TASK_OPTIONS: Readonly<Record<string, Option>> = {
  store: STORE,
  ttl: value('30s', 'the lease: how long others wait for a machine that has died; renewed while the program runs'),
  wait: value('10s', 'give up after this long; without it, waits for ever'),
  'no-wait': flag('give up at once when others have the lock'),
  'busy-exit': value('75', 'the exit code when others have the lock'),
  label: value('TEXT', "what others see of this holder; else the program's name"),
  'max-hold': value('1h', 'stop the program after this long, and end with 124'),
  grace: value('5s', 'how long a program that must stop has, from TERM to KILL'),
  quiet: flag('do not say whom it waits for, nor that others have the lock'),
}

const TTL_MS = 30_000
const GRACE_MS = 5_000
/** A timer can wait a little longer than this: 24 days. */
const MAX_HOLD_MS_MAX = 2_073_600_000

/** Refuses wrong arguments before anything is started. */
export function readTask(syntax: Syntax, given: Given): Task {
  refuseBoth(syntax, given, 'wait', 'no-wait')
  const time = (option: string, otherwise: number): number => {
    const text = given.values.get(option)
    return text === undefined ? otherwise : parseDuration(`--${option}`, text)
  }
  const [file = '', ...args] = given.program
  if (file === '') throw usage(syntax, 'the program to run is empty')
  const store = storeUrl(given)
  // The lease in the URL counts, unless the command line gives another.
  const ttlMs = time('ttl', Number(urlOption(store, 'ttlMs') ?? TTL_MS))
  return {
    name: checkName('NAME', given.operands[0]),
    store,
    ttlMs: checkWhole('--ttl in milliseconds', ttlMs, 1, 86_400_000),
    label: checkText('--label', given.values.get('label') ?? urlOption(store, 'label') ?? label(file), 200),
    waitMs: given.flags.has('no-wait') ? 0 : time('wait', Number.POSITIVE_INFINITY),
    maxHoldMs: maxHold(time('max-hold', Number(urlOption(store, 'maxHoldMs') ?? Number.POSITIVE_INFINITY))),
    graceMs: time('grace', GRACE_MS),
    busyExit: exitCode(given.values.get('busy-exit')),
    quiet: given.flags.has('quiet'),
    file,
    args,
  }
}

/** Shown to people by `ls`. The arguments of the program are left out: they may hold a password. */
function label(file: string): string {
  const name = basename(file)
  return Buffer.byteLength(name) <= 200 ? name : name.slice(0, 50)
}

function exitCode(text: string | undefined): number {
  if (text === undefined) return EXIT.notAcquired
  return checkWhole('--busy-exit', /^\d+$/.test(text) ? Number(text) : text, 0, 255)
}

function maxHold(ms: number): number {
  return ms === Number.POSITIVE_INFINITY ? ms : checkWhole('--max-hold in milliseconds', ms, 1, MAX_HOLD_MS_MAX)
}
