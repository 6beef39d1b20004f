/** `holdfast deadlocks`: who waits in a circle. */
import type { Given, Syntax } from './args.ts'
import { formatDuration } from './duration.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE } from './option.ts'
import { print } from './output.ts'
import { withStore } from './store.ts'
import { printable } from './table.ts'

export const syntax: Syntax = {
  command: 'deadlocks',
  options: {
    store: STORE,
    json: flag('one array a circle: [{ line, label, host, pid, waitingMs, holds: [{ line, token }] }, …]'),
  },
  operands: [],
  runs: false,
}

export const help: string = `Finds processes that wait for each other in a circle, across processes and machines.

Usage: holdfast deadlocks [--store URL] [--json]

${optionsHelp(syntax.options)}

A caller is seen if it asks for a lock inside \`using\` of another, or with the same owner as another. To end a circle,
stop one of its processes, or break a lock that the process holds.

Exit code: 0 there is none · 1 there is at least one
  64 usage · 69 store out of reach · 70 internal`

export function execute(given: Given): Promise<number> {
  return withStore(given, async (hf) => {
    const circles = await hf.deadlocks()
    for (const circle of circles) {
      if (given.flags.has('json')) {
        print(JSON.stringify(circle, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
        continue
      }
      const parties = circle.map(({ line, label, host, pid, waitingMs, holds }) => {
        const held = holds.map((one) => printable(one.line)).join(', ')
        const who = printable(`${host}:${pid}${label === '' ? '' : ` (${label})`}`)
        return `  ${who} holds ${held} and waits for ${printable(line)}, ${formatDuration(waitingMs)} now`
      })
      print(`a circle of ${circle.length}:\n${parties.join('\n')}`)
    }
    if (circles.length === 0 && !given.flags.has('json')) print('nobody waits in a circle')
    return circles.length === 0 ? EXIT.ok : 1
  })
}
