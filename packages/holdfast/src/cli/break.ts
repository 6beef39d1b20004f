/** `holdfast break`: force-releases a lock. */
import { checkName } from '../contract/check.ts'
import type { LineView } from '../contract/driver.ts'
import type { Given, Syntax } from './args.ts'
import { formatDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE } from './option.ts'
import { complain, print } from './output.ts'
import { findLine } from './show.ts'
import { withStore } from './store.ts'
import { printable } from './table.ts'
import { who } from './view.ts'

export const syntax: Syntax = {
  command: 'break',
  options: {
    yes: flag('do it; without it, only says what would happen, and exits with 64'),
    now: flag(
      'serve the next waiter at once. The old holder may still be acting: TWO MAY ACT AT THE SAME TIME. Without ' +
        '--now the ' +
        'holders cannot renew their leases, and the next waiter is served when the leases have run out: no two ' +
        'act at the ' +
        'same time.',
    ),
    store: STORE,
    json: flag('one object: { name, now, broken }, the number of holders that lost the lock'),
  },
  operands: ['NAME'],
  runs: false,
}

export const help: string = `Force-releases a lock.

Usage: holdfast break NAME --yes [--now] [--store URL] [--json]

${optionsHelp(syntax.options)}

Examples:
  holdfast break stock:42              says what would happen
  holdfast break stock:42 --yes        lets the leases run out
  holdfast break stock:42 --yes --now  does not wait: the holder is known to be dead`

export function execute(given: Given): Promise<number> {
  const name = checkName('NAME', given.operands[0])
  const now = given.flags.has('now')
  return withStore(given, async (hf) => {
    const line = await findLine(hf, name)
    if (!given.flags.has('yes')) {
      complain(forecast(line, now))
      return EXIT.usage
    }
    const broken = await hf.break(name, { now })
    if (given.flags.has('json')) print(JSON.stringify({ name, now, broken }))
    else print(`${printable(name)}: ${outcome(line, broken, now)}`)
    return EXIT.ok
  })
}

function forecast(line: LineView, now: boolean): string {
  const name = printable(line.name)
  if (line.holders.length === 0) return `nobody holds ${name}, so there is nothing to release`
  const names = line.holders.map((place) => printable(who(place))).join(', ')
  const next = line.waiters.length === 0 ? 'whoever comes next' : `the next of ${line.waiters.length} waiting`
  return now
    ? `this would take ${name} from ${names} at once and serve ${next}, although the old holder may still be ` +
        `acting: two may act at the same time; to do it, add --yes`
    : `this would stop the renewal of ${name} for ${names}, and serve ${next} in ` +
        `${formatDuration(leaseMs(line))}, when the lease has run out; to do it, add --yes`
}

function outcome(line: LineView, broken: number, now: boolean): string {
  if (broken === 0) return 'nobody held it, so nothing was released'
  const holders = broken === 1 ? '1 holder' : `${broken} holders`
  return now
    ? `taken from ${holders} at once; until the old holder notices, two may act at the same time`
    : `taken from ${holders}; the next waiter is served when the lease has run out, in ` +
        `${formatDuration(leaseMs(line))} at most`
}

/** When the last of the holders' leases ends. */
function leaseMs(line: LineView): number {
  return Math.max(0, ...line.holders.map((place) => place.leftMs))
}
