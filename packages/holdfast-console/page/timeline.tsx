/** Who held a lock when, as far as the console saw: one lane for each that held it at the same time. */
import type { JSX } from 'preact'
import type { Span } from '../src/wire.ts'
import { nowMs } from './model.ts'
import { clock, plain, span } from './text.tsx'

const LANE_PX = 26
const LANES_MAX = 8
const SHOWN_MS = 15 * 60_000
const LEAST_MS = 30_000
/** As many as the style sheet has. */
const HUES = 6

export function Timeline({ spans }: { readonly spans: readonly Span[] }): JSX.Element {
  const now = nowMs()
  const shown = spans.filter(({ toMs }) => (toMs ?? now) > now - SHOWN_MS)
  const from = Math.max(now - SHOWN_MS, Math.min(now - LEAST_MS, ...shown.map(({ fromMs }) => fromMs)))
  const length = now - from
  const at = (ms: number): number => (Math.max(0, ms - from) / length) * 100
  const lanes = layOut(shown)
  const count = Math.min(LANES_MAX, Math.max(1, ...lanes.map((lane) => lane + 1)))
  return (
    <figure class="timeline">
      <svg
        width="100%"
        height={count * LANE_PX + 22}
        role="img"
        aria-label={`Who held the lock in the last ${span(length)}: ${shown.length} holds seen`}
      >
        {[0, 25, 50, 75, 100].map((percent) => (
          <g key={percent}>
            <line class="rule" x1={`${percent}%`} x2={`${percent}%`} y1={0} y2={count * LANE_PX} />
            <text
              class="when"
              x={`${percent}%`}
              y={count * LANE_PX + 15}
              text-anchor={percent === 0 ? 'start' : percent === 100 ? 'end' : 'middle'}
            >
              {clock(from + (length * percent) / 100)}
            </text>
          </g>
        ))}
        {shown.map((one, i) => {
          const lane = lanes[i] ?? 0
          if (lane >= LANES_MAX) return null
          const x = at(one.fromMs)
          const width = Math.max(0.3, at(one.toMs ?? now) - x)
          const what = `${plain(one.who)}: ${span((one.toMs ?? now) - one.fromMs)}, ${one.end ?? 'still holds'}`
          return (
            <g key={one.token}>
              <rect
                class={`hold hue-${hueOf(one.who)} ${(one.end ?? 'now').replace(' ', '-')}`}
                x={`${x}%`}
                y={lane * LANE_PX + 3}
                width={`${width}%`}
                height={LANE_PX - 6}
                rx={3}
              >
                <title>{what}</title>
              </rect>
              {width > 14 ? (
                <text class="hold-text" x={`${x + 0.8}%`} y={lane * LANE_PX + 17}>
                  {plain(one.who).slice(0, Math.floor(width * 1.1))}
                </text>
              ) : null}
            </g>
          )
        })}
      </svg>
    </figure>
  )
}

/** The same holder has the same colour. */
function hueOf(who: string): number {
  let sum = 0
  for (const char of who) sum = (sum * 31 + (char.codePointAt(0) ?? 0)) % 9_973
  return sum % HUES
}

/** The first lane that is free when the hold begins. */
function layOut(spans: readonly Span[]): number[] {
  const freeFrom: number[] = []
  return spans.map(({ fromMs, toMs }) => {
    const free = freeFrom.findIndex((ms) => ms <= fromMs)
    const lane = free < 0 ? freeFrom.length : free
    freeFrom[lane] = toMs ?? Number.POSITIVE_INFINITY
    return lane
  })
}
