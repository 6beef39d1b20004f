/** `holdfast doctor`: which promises hold on this store as it is configured. */
import { examine } from '../doctor/doctor.ts'
import { exitOf, type Finding } from '../doctor/finding.ts'
import type { Given, Syntax } from './args.ts'
import { STORE_HELP } from './command.ts'
import { print } from './output.ts'
import { publicUrl, storeUrl } from './store.ts'
import { printable } from './table.ts'

export const syntax: Syntax = {
  command: 'doctor',
  options: { store: 'value', json: 'flag' },
  operands: [],
  runs: false,
}

export const help: string = `Looks at a store, and says which promises hold on this server as it is configured.

Usage: holdfast doctor [--store URL] [--json]

Each finding says why it is dangerous for locks, and what to do. To look costs a lock of its own, which is given back.

${STORE_HELP}
  --json          one object a line: { check, severity, found, why, todo }

Severities: danger (two may hold a lock at once, or none can be had), warning (after a fault, or under load), unknown
(could not be checked: mostly rights are missing), note, ok.

Examples:
  holdfast doctor --store redis://localhost:6379
  holdfast doctor --json | jq -r 'select(.severity == "danger") | .todo'

Exit codes: 0 nothing worse than a note · 1 warnings · 2 danger · 64 usage · 69 store unavailable`

export async function execute(given: Given): Promise<number> {
  const url = storeUrl(given)
  const findings = await examine(url)
  if (given.flags.has('json')) for (const finding of findings) print(JSON.stringify(finding))
  else print(`${printable(publicUrl(url))}\n\n${findings.map(shown).join('\n')}`)
  return exitOf(findings)
}

function shown({ check, severity, found, why, todo }: Finding): string {
  const head = `${severity.toUpperCase().padEnd(8)} ${check}: ${printable(found)}`
  if (severity === 'ok') return head
  return `${head}\n         why: ${printable(why)}\n         do:  ${printable(todo)}`
}
