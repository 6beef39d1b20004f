/** A schedule for people: who held what when, in the lab's own timeline. */
import type { Moment, Span, Timeline } from '../lab/timeline.ts'
import type { Actor, Grant } from './actor.ts'
import { type Call, shown, shownCall } from './calls.ts'
import type { Harm } from './judge.ts'
import type { End, Played } from './play.ts'

export function timelineOf(played: Played, harm: Harm): Timeline {
  const { first, second, calls, stopped } = played
  const actors = [first, second].filter((actor) => actor.grants.size > 0 || calls.sent.some((c) => c.actor === actor))
  const moments = actors.flatMap((actor) => momentsOf(actor, played))
  for (const call of calls.seen) moments.push(momentOf(call, call === harm.call))
  if (first.pause !== null && stopped !== null) {
    const { fromMs, toMs } = first.pause
    const where =
      stopped.call === null ? `before it goes on after the await at ${stopped.site()}` : underWay(stopped.call)
    moments.push({
      row: first.name,
      kind: 'fault',
      atMs: fromMs,
      text: `stands still for ${Math.round(toMs - fromMs)} ms, ${where}`,
    })
    moments.push({ row: first.name, kind: 'step', atMs: toMs, text: 'goes on' })
  }
  return {
    rows: actors.map(({ name }) => name),
    spans: actors.flatMap((actor) => spansOf(actor, played.endMs)),
    moments: moments.toSorted((a, b) => a.atMs - b.atMs),
    endMs: played.endMs,
  }
}

function underWay(call: Call): string {
  return `while ${shownCall(call)} is under way`
}

function momentOf(call: Call, isHarm: boolean): Moment {
  const { actor, outcome, answer } = call
  const said = outcome === 'refused' ? `refused: ${shown(answer)}` : answer === undefined ? 'done' : shown(answer)
  const kind = isHarm ? 'harm' : outcome === 'refused' ? 'caught' : 'step'
  return { row: actor.name, kind, atMs: call.seenMs ?? 0, text: `${shownCall(call)} → ${said}` }
}

function momentsOf(actor: Actor, { ends, endedMs, first, endMs }: Played): Moment[] {
  const who = actor === first ? 'first' : 'second'
  const step = (atMs: number, text: string): Moment => ({ row: actor.name, kind: 'step', atMs, text })
  const grants = [...actor.grants.values()].flatMap((grant) => {
    const lapse = lapseOf(grant)
    const name = `lock ${JSON.stringify(grant.entry.line)}`
    const got = step(grant.fromMs, `has ${name}`)
    const isLost = lapse <= endMs && (grant.leftMs === null || lapse < grant.leftMs)
    return isLost ? [got, step(lapse, `its lease of ${grant.entry.ttlMs} ms is over`)] : [got]
  })
  const at = endedMs[who]
  return at === null ? grants : [...grants, step(at, endText(ends[who]))]
}

function endText(end: End): string {
  return typeof end === 'object' ? `its function ends with ${shown(end.error)}` : 'its function ends'
}

function lapseOf({ renewedMs, entry }: Grant): number {
  return renewedMs + entry.ttlMs
}

function spansOf(actor: Actor, endMs: number): Span[] {
  const holds = [...actor.grants.values()].map((grant): Span => {
    const toMs = Math.min(grant.leftMs ?? endMs, lapseOf(grant), endMs)
    return { row: actor.name, kind: 'hold', fromMs: grant.fromMs, toMs }
  })
  return actor.pause === null ? holds : [...holds, { row: actor.name, kind: 'stopped', ...actor.pause }]
}
