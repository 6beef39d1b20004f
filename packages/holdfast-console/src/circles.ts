/**
 * Finds deadlocks in what the console sees anyway: no further request. Only a circle that two looks show is reported.
 */
import type { LineView, PlaceView } from 'holdfast'
import { findCircles, findEntangled, who } from 'holdfast/internal'
import type { CirclePart } from './wire.ts'

/**
 * How many waiters of each lock are looked at if they hold nothing: a crowd behind a deadlock makes no other deadlock.
 */
const PLAIN_WAITERS = 20

export class Circles {
  #known = new Set<string>()

  /** The circles that the last look showed, too. */
  look(lines: readonly LineView[], nowMs: number): CirclePart[][] {
    const circles = findCircles(findEntangled(concise(lines)))
    const keys = new Set<string>()
    const told: CirclePart[][] = []
    for (const circle of circles) {
      const key = circle.map(({ line, place }) => `${place.token} ${line}`).join('\n')
      keys.add(key)
      if (!this.#known.has(key)) continue
      told.push(
        circle.map(({ line, place }) => ({
          lock: line,
          who: who(place),
          askedMs: Math.round(nowMs - place.ageMs),
          holds: (place.holds ?? []).map((held) => held.line),
        })),
      )
    }
    this.#known = keys
    return told
  }
}

/** The lines without what can't matter; empty if no waiter holds anything. */
function concise(lines: readonly LineView[]): LineView[] {
  const holds = ({ holds: held }: PlaceView): boolean => (held ?? []).length > 0
  const contended = lines.filter(({ waiters }) => waiters.length > 0)
  if (!contended.some(({ waiters }) => waiters.some(holds))) return []
  return contended.map((line) => {
    let plain = 0
    return { ...line, waiters: line.waiters.filter((place) => holds(place) || plain++ < PLAIN_WAITERS) }
  })
}
