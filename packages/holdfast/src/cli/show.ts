/** `holdfast show`: the holders of one lock, and its waiters in the order of the queue. */
import { checkName } from '../contract/check.ts'
import type { LineView } from '../contract/driver.ts'
import type { Holdfast } from '../holdfast.ts'
import type { Given, Syntax } from './args.ts'
import { EXIT } from './exit.ts'
import { flag, optionsHelp, STORE } from './option.ts'
import { isStyled, print } from './output.ts'
import { withStore } from './store.ts'
import { printable } from './table.ts'
import { kind, lineJson, placeTable } from './view.ts'

export const syntax: Syntax = {
  command: 'show',
  options: {
    store: STORE,
    json: flag('one object: { name, capacity, holders, waiters }; a lock that nobody uses has capacity 0'),
  },
  operands: ['NAME'],
  runs: false,
}

export const help: string = `Shows the holders of a lock, and its waiters in the order of the queue.

Usage: holdfast show NAME [--store URL] [--json]

${optionsHelp(syntax.options)}

Examples:
  holdfast show stock:42
  holdfast show stock:42 --json | jq -r '.holders[0].token'`

export function execute(given: Given): Promise<number> {
  const name = checkName('NAME', given.operands[0])
  return withStore(given, async (hf) => {
    const line = await findLine(hf, name)
    if (given.flags.has('json')) print(lineJson(line))
    else if (line.capacity === 0) print(`${printable(name)}: nobody holds it, nobody waits`)
    else print(`${printable(name)}: ${kind(line.capacity)}\n\n${placeTable(line, isStyled())}`)
    return EXIT.ok
  })
}

/** If nobody stands in a line, the store does not have it. Its capacity is not decided yet, and shown as 0. */
export async function findLine(hf: Holdfast, name: string): Promise<LineView> {
  for await (const line of hf.list({ prefix: name })) if (line.name === name) return line
  return { name, capacity: 0, holders: [], waiters: [] }
}
