/** The verdict for programs: one object. */
import type { Finding } from '../checker/finding.ts'
import type { Judgement } from '../checker/judge.ts'
import type { NotRun } from '../conductor/options.ts'

export function jsonReport(
  { verdict, trial, doubts, violations, exposures, counts }: Judgement,
  notRun: readonly NotRun[],
): string {
  const { run } = trial
  const finding = ({ at, ...rest }: Finding): object => ({ ...rest, atMs: (at - trial.start) / 1_000 })
  return JSON.stringify({
    verdict,
    doubts,
    store: run.store,
    versions: run.versions,
    seed: run.seed,
    ttlMs: run.ttlMs,
    clients: run.clients,
    seconds: Math.round((trial.end - trial.start) / 1e5) / 10,
    counts,
    notRun,
    violations: violations.map(finding),
    exposures: exposures.map(finding),
  })
}
