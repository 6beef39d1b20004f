/** What the doctor finds, by what was checked. */
import { expect } from 'vitest'
import { examine } from '../../src/doctor/doctor.ts'
import type { Finding, Severity } from '../../src/doctor/finding.ts'

/** The severities of each check that is not fine; a danger stands before a note of the same check. */
export async function ills(url: string): Promise<Record<string, Severity>> {
  const findings = await examine(url)
  for (const finding of findings) expectWhole(finding)
  const ill = findings.filter(({ severity }) => severity !== 'ok').toReversed()
  return Object.fromEntries(ill.map(({ check, severity }) => [check, severity]))
}

/** Whoever is told of a danger is told why, and what to do. */
function expectWhole({ check, severity, found, why, todo }: Finding): void {
  expect(found, check).not.toBe('')
  if (severity === 'ok') return
  expect(why, check).not.toBe('')
  expect(todo, check).not.toBe('')
}
