/** A program that runs under a hold, as `run` and `elect` are asked for it. */
import { basename } from 'node:path'
import { checkName, checkWhole } from '../contract/check.ts'
import { type Given, refuseBoth, type Syntax, usage } from './args.ts'
import { parseDuration } from './duration.ts'
import { storeUrl, urlOption } from './store.ts'

export interface Task {
  readonly name: string
  readonly store: string
  readonly ttlMs: number
  readonly label: string
  readonly waitMs: number
  readonly graceMs: number
  readonly file: string
  readonly args: readonly string[]
}

/** The options of a task. */
export const TASK_OPTIONS: Readonly<Record<string, 'flag' | 'value'>> = {
  store: 'value',
  ttl: 'value',
  wait: 'value',
  'no-wait': 'flag',
  grace: 'value',
}

const TTL_MS = 30_000
const GRACE_MS = 5_000

/** Refuses what is wrong, before anything is started. */
export function readTask(syntax: Syntax, given: Given): Task {
  refuseBoth(syntax, given, 'wait', 'no-wait')
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
    ttlMs: checkWhole('--ttl in milliseconds', ttlMs, 1, 86_400_000),
    label: urlOption(store, 'label') ?? label(file),
    waitMs: given.flags.has('no-wait') ? 0 : time('wait', Number.POSITIVE_INFINITY),
    graceMs: time('grace', GRACE_MS),
    file,
    args,
  }
}

/** Shown to people by `ls`. Arguments are left out: they may hold a password. */
function label(file: string): string {
  const name = basename(file)
  return Buffer.byteLength(name) <= 200 ? name : name.slice(0, 50)
}
