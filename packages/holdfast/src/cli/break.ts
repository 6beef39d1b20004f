/** `holdfast break`: takes a line from those who hold it. */
import { checkName } from '../core/check.ts'
import type { LineView } from '../driver.ts'
import type { Given, Syntax } from './args.ts'
import { STORE_HELP } from './command.ts'
import { formatDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { complain, print } from './output.ts'
import { findLine } from './show.ts'
import { withStore } from './store.ts'
import { printable } from './table.ts'
import { who } from './view.ts'

export const syntax: Syntax = {
  command: 'break',
  options: { store: 'value', json: 'flag', now: 'flag', yes: 'flag' },
  operands: ['NAME'],
  runs: false,
}

export const help: string = `Takes a line from those who hold it.

Usage: holdfast break NAME --yes [--now] [--store URL] [--json]

  --yes           do it; without it, only says what would happen, and exits with 64
  --now           serve the next at once. The old holder may still be acting: TWO MAY ACT AT THE SAME TIME.
                  Without it the leases of the holders are renewed no more, and the next is served when they have
                  run out: nobody acts together with anybody.
${STORE_HELP}
  --json          one object: { name, now, broken }, the number of places that were broken

Examples:
  holdfast break stock:42              what would happen
  holdfast break stock:42 --yes        renew no more, and let the leases run out
  holdfast break stock:42 --yes --now  the holder is known to be dead; do not wait`

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
  if (line.holders.length === 0) return `nobody holds ${name}, so there is nothing to break`
  const names = line.holders.map((place) => printable(who(place))).join(', ')
  const next = line.waiters.length === 0 ? 'whoever comes next' : `the next of ${line.waiters.length} waiting`
  return now
    ? `this would take ${name} from ${names} at once and serve ${next}, although the old holder may still be acting: two may act at the same time; to do it, add --yes`
    : `this would stop the renewal of ${name} for ${names}, and serve ${next} in ${formatDuration(leaseMs(line))}, when the lease has run out; to do it, add --yes`
}

function outcome(line: LineView, broken: number, now: boolean): string {
  if (broken === 0) return 'nobody held it, nothing was broken'
  const places = broken === 1 ? '1 place' : `${broken} places`
  return now
    ? `${places} broken at once; until the old holder notices, two may act at the same time`
    : `${places} broken; the next is served when the lease has run out, in ${formatDuration(leaseMs(line))} at most`
}

/** When the last of the holders' leases ends. */
function leaseMs(line: LineView): number {
  return Math.max(0, ...line.holders.map((place) => place.leftMs))
}
