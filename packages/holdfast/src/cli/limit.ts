/** `holdfast limit`: takes from a rate limit, and runs a program if there was enough. */
import { checkName, checkWhole } from '../contract/check.ts'
import { AcquireTimeoutError, UsageError } from '../contract/errors.ts'
import type { Limiter, Outcome } from '../kit/limiter/limiter.ts'
import { type LimiterOptions, resolveLimiter } from '../kit/limiter/options.ts'
import { type Given, type Syntax, usage } from './args.ts'
import { runChild } from './child.ts'
import { formatDuration, parseDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE, value } from './option.ts'
import { complain, print } from './output.ts'
import { withStore } from './store.ts'

export const syntax: Syntax = {
  command: 'limit',
  options: {
    rate: value('100/1s', 'so many in so much time; all users of the name should say the same'),
    burst: value('20', 'how many at once after a rest; else as many as the rate says'),
    cost: value('1', 'how many to take'),
    key: value('K', 'whom to count: each key has the whole rate; else all are counted together'),
    wait: value('10s', 'wait for it up to this long; else it is refused at once'),
    json: flag('one object: { allowed, remaining, retryAfterMs, resetMs, shut }; not with a program'),
    store: STORE,
  },
  operands: ['NAME'],
  runs: 'maybe',
}

export const help: string = `Takes from a rate limit, and runs a program if there was enough.

Usage: holdfast limit NAME --rate N/TIME [options] [-- program [argument …]]

${optionsHelp(syntax.options)}

Exit code: 0 taken, or the program's own · 75 refused, and when to try again is said
  64 usage · 69 store out of reach · 70 internal · 126 program can't be run · 127 program not found

Examples:
  holdfast limit mail --rate 10/1m -- ./send.sh
  holdfast limit api --rate 100/1s --burst 20 --key "$USER" && curl …
  holdfast limit deploy --rate 3/1h --json | jq .retryAfterMs`

export async function execute(given: Given): Promise<number> {
  const name = checkName('NAME', given.operands[0], 200)
  const key = checkName('--key', given.values.get('key') ?? 'all', 256)
  const options = readRate(given)
  const cost = whole(given, 'cost', 1)
  const wait = given.values.get('wait')
  const waitMs = wait === undefined ? 0 : parseDuration('--wait', wait)
  const { burst } = resolveLimiter(options)
  if (cost > burst) throw usage(syntax, `--cost must be at most the burst, ${burst}, or it would never be granted`)
  const isJson = given.flags.has('json')
  if (isJson && given.program.length > 0) throw usage(syntax, "--json and a program can't be given together")
  const outcome = await withStore(given, async (hf) => {
    if (hf.traits.scope === 'process') {
      throw new UsageError('only one process can see this store, so it limits nothing here; use a sqlite: file')
    }
    return take(hf.limiter(name, options), key, cost, waitMs)
  })
  if (isJson) print(json(outcome))
  if (!outcome.allowed) {
    if (!isJson)
      complain(`limit ${JSON.stringify(name)}: refused; try again in ${formatDuration(outcome.retryAfterMs)}`)
    return EXIT.notAcquired
  }
  if (given.program.length > 0) return runChild(given.program)
  if (!isJson) print(`taken; ${outcome.remaining} left`)
  return EXIT.ok
}

async function take(limiter: Limiter, key: string, cost: number, waitMs: number): Promise<Outcome> {
  if (waitMs === 0) return limiter.take(key, cost)
  try {
    return await limiter.acquire(key, { cost, waitMs })
  } catch (error) {
    if (!(error instanceof AcquireTimeoutError)) throw error
    // Look as well: only a look that takes nothing says when.
    const { resetMs, ...look } = await limiter.look(key)
    const retryAfterMs = Math.max(0, resetMs - ((limiter.burst - cost) * limiter.perMs) / limiter.limit)
    return { ...look, resetMs, allowed: false, retryAfterMs: look.shut ? look.retryAfterMs : retryAfterMs }
  }
}

function readRate(given: Given): LimiterOptions {
  const text = given.values.get('rate')
  if (text === undefined) throw usage(syntax, 'limit needs a --rate such as 100/1s')
  const slash = text.indexOf('/')
  const count = text.slice(0, slash)
  if (slash < 0 || !/^\d+$/.test(count)) {
    throw usage(
      syntax,
      `--rate must be a number and a time, such as 100/1s, given ${JSON.stringify(text.slice(0, 80))}`,
    )
  }
  const limit = checkWhole('--rate', Number(count), 1, 1_000_000_000)
  const perMs = checkWhole('the time of --rate in ms', parseDuration('--rate', text.slice(slash + 1)), 1, 2_678_400_000)
  return { limit, perMs, burst: whole(given, 'burst', limit) }
}

function whole(given: Given, option: string, otherwise: number): number {
  const text = given.values.get(option)
  if (text === undefined) return otherwise
  return checkWhole(`--${option}`, /^\d+$/.test(text) ? Number(text) : text, 1, 1_000_000_000)
}

function json({ allowed, remaining, retryAfterMs, resetMs, shut }: Outcome): string {
  return JSON.stringify({ allowed, remaining, retryAfterMs, resetMs, shut })
}
