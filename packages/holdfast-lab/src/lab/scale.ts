/** The column of a moment in a drawing. */
import type { Timeline } from './timeline.ts'

export interface Scale {
  /** Columns between two moments, if every moment has a column of its own; null if columns stand for time. */
  readonly step: number | null
  /** How many columns there are. */
  readonly width: number
  /** The column of a time. */
  column(ms: number): number
}

const STEP_MIN = 2
const STEP_MAX = 8
/** With so many spans for each moment, readers want to see what happens between two moments. */
const CROWD = 10
/** Notes this close to a moment belong to that moment. */
const TOGETHER_MS = 0.5

/**
 * Steps within a millisecond and a wait of a second are equally worth a look. So each moment gets as much room as any
 * other, and times are written beside. If there are more moments than room, or few moments in a crowd, columns stand
 * for time.
 */
export function makeScale({ moments, spans, endMs }: Timeline, widthMax: number): Scale {
  const count = moments.length
  const step = Math.min(STEP_MAX, Math.floor(widthMax / Math.max(1, count)))
  if (step < STEP_MIN || spans.length > CROWD * count) {
    const perMs = widthMax / Math.max(endMs, 1)
    return {
      step: null,
      width: widthMax,
      column: (ms) => Math.min(widthMax, Math.max(0, Math.round(ms * perMs))),
    }
  }
  const times = moments.map(({ atMs }) => atMs)
  return {
    step,
    width: count * step,
    column(ms) {
      if (ms >= endMs) return count * step
      const next = times.findIndex((atMs) => atMs > ms)
      if (next === 0) return 0
      const at = next < 0 ? count - 1 : next - 1
      const from = times[at] as number
      const to = times[at + 1] ?? endMs
      if (ms - from < TOGETHER_MS) return at * step
      if (to - ms < TOGETHER_MS) return (at + 1) * step
      return Math.round((at + (ms - from) / (to - from)) * step)
    },
  }
}
