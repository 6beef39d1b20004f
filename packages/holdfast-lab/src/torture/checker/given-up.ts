/** A caller that has given up gets nothing: neither one lock nor several at once. */
import type { Checker } from './finding.ts'
import { none } from './finding.ts'

export const givenUp: Checker = (trial) => {
  const found = none()
  for (const { aborted, p, line, granted } of trial.holds) {
    if (!aborted) continue
    const message = `${p} was given it, although it had given up before`
    found.violations.push({ rule: 'given-up', line, at: granted, message, processes: [p] })
  }
  return found
}
