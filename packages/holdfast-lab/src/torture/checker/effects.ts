/**
 * Effect exclusion: on the resource that checks tokens, no step of another comes between the steps of an exclusive
 * holder. On the resource that checks nothing the same is counted as an exposure: that is what a lock alone leaves
 * open.
 */
import type { EffectEvent } from '../history/event.ts'
import type { Checker } from './finding.ts'
import { none } from './finding.ts'
import type { Hold, LineTrial, Trial } from './trial.ts'

interface Span {
  readonly hold: Hold
  readonly first: number
  last: number
  count: number
  at: number
}

export const effects: Checker = (trial) => {
  const found = none()
  for (const line of trial.lines.values()) {
    const say = ({ hold, at }: Span, how: string) => ({
      rule: 'effects' as const,
      line: line.spec.name,
      at,
      message: `another acted between the steps of ${hold.p}, who held it alone${how}`,
      processes: [hold.p],
    })
    for (const span of interleaved(trial, line, ({ accepted }) => accepted)) {
      found.violations.push(say(span, ', and both tokens were accepted'))
    }
    for (const span of interleaved(trial, line, () => true)) {
      found.exposures.push(say(span, ', where nobody checks tokens'))
    }
  }
  return found
}

/**
 * Linear: a hold's steps stand together exactly if their first and last positions are as far apart as they are many.
 */
function interleaved(trial: Trial, line: LineTrial, counts: (effect: EffectEvent) => boolean): Span[] {
  const spans = new Map<Hold, Span>()
  let position = 0
  for (const effect of line.effects) {
    if (!counts(effect)) continue
    const hold = trial.holdOf(effect.p, effect.i)
    position += 1
    if (hold === undefined || !hold.exclusive) continue
    const span = spans.get(hold)
    if (span === undefined) spans.set(hold, { hold, first: position, last: position, count: 1, at: effect.t })
    else {
      span.last = position
      span.count += 1
      span.at = effect.t
    }
  }
  return [...spans.values()].filter(({ first, last, count }) => last - first + 1 > count)
}
