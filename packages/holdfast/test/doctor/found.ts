/** What `holdfast doctor` says to scripts: the built command line, its lines of JSON and its exit code. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Finding, Severity } from '../../src/doctor/finding.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli.cjs', import.meta.url))
const SEVERITIES: readonly Severity[] = ['danger', 'warning', 'unknown', 'note', 'ok']
const EXITS: Readonly<Record<Severity, number>> = { danger: 2, warning: 1, unknown: 0, note: 0, ok: 0 }

/** The severities of each check that is not fine; a danger stands before a note of the same check. */
export async function ills(url: string): Promise<Record<string, Severity>> {
  const findings = await findingsOf(url)
  const ill = findings.filter(({ severity }) => severity !== 'ok').toReversed()
  return Object.fromEntries(ill.map(({ check, severity }) => [check, severity]))
}

/** All findings, as a script reads them: whole, the worst first, and told by the exit code. */
export async function findingsOf(url: string): Promise<Finding[]> {
  return read(await doctor(url))
}

/** What was said, judged by the same rules. */
export function read({ code, out, err }: Said): Finding[] {
  // A warning of the process, of an old etcd or of eviction, is no complaint of the command.
  expect(err).not.toMatch(/^holdfast: /m)
  const lines = out.trimEnd().split('\n')
  const findings = lines.map((line) => JSON.parse(line) as Finding)
  for (const finding of findings) expectWhole(finding)
  const ranks = findings.map(({ severity }) => SEVERITIES.indexOf(severity))
  expect(ranks).toEqual(ranks.toSorted((a, b) => a - b))
  expect(code, out).toBe(EXITS[findings[0]?.severity ?? 'ok'])
  return findings
}

export interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The arguments of node. */
export function asked(url: string): string[] {
  return [MAIN, 'doctor', '--json', '--store', url]
}

function doctor(url: string): Promise<Said> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, asked(url), (error, out, err) => {
      const code = error === null ? 0 : error.code
      if (typeof code === 'number') resolve({ code, out, err })
      else reject(error as Error)
    })
  })
}

/** Whoever is told of a danger is told why, and what to do. */
function expectWhole(finding: Finding): void {
  const { check, severity, found, why, todo } = finding
  expect(Object.keys(finding)).toEqual(['check', 'severity', 'found', 'why', 'todo'])
  expect(found, check).not.toBe('')
  if (severity === 'ok') return
  expect(why, check).not.toBe('')
  expect(todo, check).not.toBe('')
}
