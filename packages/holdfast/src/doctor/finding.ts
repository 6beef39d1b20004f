/** A finding of the doctor: one line for people, why it matters for locks, and what to do. */

/**
 * `danger`: two may hold a lock at once, or nobody can get a lock. `warning`: the same after a fault of the server, or
 * under load.
 */
export type Severity = 'danger' | 'warning' | 'unknown' | 'note' | 'ok'

export interface Finding {
  /** Names the check, such as `redis.eviction`; stable, for scripts. */
  readonly check: string
  readonly severity: Severity
  /** What the doctor saw. */
  readonly found: string
  /** Why this is dangerous for locks; '' if all is well. */
  readonly why: string
  /** What to do; '' if all is well. */
  readonly todo: string
}

/** Collects the findings of one store. */
export class Chart {
  readonly findings: Finding[] = []
  /** The lease of the lock that the doctor takes; null: as the URL has it. */
  ttlMs: number | null = null

  ok(check: string, found: string): void {
    this.findings.push({ check, severity: 'ok', found, why: '', todo: '' })
  }

  note(check: string, found: string, why: string, todo: string): void {
    this.findings.push({ check, severity: 'note', found, why, todo })
  }

  warning(check: string, found: string, why: string, todo: string): void {
    this.findings.push({ check, severity: 'warning', found, why, todo })
  }

  danger(check: string, found: string, why: string, todo: string): void {
    this.findings.push({ check, severity: 'danger', found, why, todo })
  }

  /** The user lacks a right, or the server does not tell. */
  unknown(check: string, why: string, todo: string): void {
    this.findings.push({ check, severity: 'unknown', found: 'could not be checked', why, todo })
  }
}

const ORDER: readonly Severity[] = ['danger', 'warning', 'unknown', 'note', 'ok']

/** The worst first. */
export function bySeverity(findings: readonly Finding[]): Finding[] {
  return findings.toSorted((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity))
}

/** Exit codes of the command line: 2 danger, 1 warning, else 0. */
export function exitOf(findings: readonly Finding[]): 0 | 1 | 2 {
  if (findings.some(({ severity }) => severity === 'danger')) return 2
  return findings.some(({ severity }) => severity === 'warning') ? 1 : 0
}

/** The message of an error, on one line. */
export function saidBy(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s*\n\s*/g, ' ')
}
