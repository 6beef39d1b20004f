/** The verdict for a terminal. */
import { type Finding, RULE_TEXT, RULES } from '../checker/finding.ts'
import type { Judgement, Verdict } from '../checker/judge.ts'
import { NOT_ASKED, type NotRun } from '../conductor/options.ts'

/** Findings shown of each rule; all are in the report and in the JSON. */
const SHOWN = 5

export const VERDICT_TEXT: Readonly<Record<Verdict, string>> = {
  valid: 'holds',
  invalid: 'BROKEN',
  unknown: 'inconclusive',
}

export function textReport(
  { verdict, trial, doubts, violations, exposures, counts }: Judgement,
  notRun: readonly NotRun[],
): string {
  const { run } = trial
  const lines: string[] = []
  lines.push(`${run.store} (${run.versions}), lease ${run.ttlMs} ms, ${run.clients} clients, seed ${run.seed}`)
  const granted = `${counts.granted} granted, ${counts.refused} refused, ${counts.unknown} unknown, ${counts.lost} lost`
  lines.push(`  visits    ${counts.visits}: ${granted}`)
  const errands = Object.entries(counts.errands).map(
    ([kind, { asked, granted: given }]) => `${kind} ${asked} (${given})`,
  )
  lines.push(`  errands   ${errands.join(', ')} (granted)`)
  lines.push(`  effects   ${counts.effects}, of which ${counts.stale} were turned away by their tokens`)
  const faults = Object.entries(counts.faults).map(
    ([name, { struck, hit }]) => `${name} ${struck} (${hit} met a holder)`,
  )
  lines.push(`  faults    ${faults.length === 0 ? 'none' : faults.join(', ')}`)
  const lacking = notRun.filter(({ why }) => why !== NOT_ASKED)
  if (lacking.length > 0)
    lines.push(`  not run   ${lacking.map(({ nemesis, why }) => `${nemesis}: ${why}`).join('; ')}`)
  const { releases, wakes } = counts.wakeUps
  if (releases > 0) lines.push(`  woken     ${wakes} waiters by ${releases} releases in front of a crowd`)
  lines.push(`  healed    every line was served within ${Math.round(counts.healMs)} ms after the faults`)
  for (const rule of RULES) {
    const [broken, exposed] = [counts.violations[rule], counts.exposures[rule]]
    const exposedText = exposed === 0 ? '' : `, ${exposed} exposures that the store's page names`
    lines.push(
      `  ${broken === 0 ? '✓' : '✗'} ${rule.padEnd(12)} ` +
        `${RULE_TEXT[rule]}${broken === 0 ? '' : `: ${broken} times not`}${exposedText}`,
    )
  }
  if (violations.length > 0) lines.push('', ...shown(violations, trial.start))
  if (violations.length === 0 && exposures.length > 0) lines.push('', 'Exposures:', ...shown(exposures, trial.start))
  lines.push('', `${VERDICT_TEXT[verdict]}${doubts.length === 0 ? '' : `: ${doubts.join('; ')}`}`)
  return lines.join('\n')
}

function shown(findings: readonly Finding[], start: number): string[] {
  const seen = new Map<string, number>()
  const lines: string[] = []
  for (const { rule, line, at, message, around = [] } of findings) {
    const count = (seen.get(rule) ?? 0) + 1
    seen.set(rule, count)
    if (count > SHOWN) continue
    lines.push(`  ${((at - start) / 1e6).toFixed(3)} s  ${rule}  ${line === '' ? '' : `${line}: `}${message}`)
    for (const event of around) lines.push(`      ${event}`)
  }
  for (const [rule, count] of seen) if (count > SHOWN) lines.push(`  and ${count - SHOWN} more of ${rule}`)
  return lines
}
