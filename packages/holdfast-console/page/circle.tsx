/** A deadlock drawn as a ring: each process waits for a lock that the next one holds. */
import type { JSX } from 'preact'
import type { CirclePart } from '../src/wire.ts'
import { nowMs } from './model.ts'
import { linkTo } from './route.ts'
import { Name, plain, span } from './text.tsx'

const WIDTH = 360
const HEIGHT = 200
const CENTRE = WIDTH / 2
const RADIUS = 74
const NODE = 15
/** Of a name that stands beside the ring. */
const LETTERS = 14

export function Circle({ parts }: { readonly parts: readonly CirclePart[] }): JSX.Element {
  const angles = parts.map((_, i) => (i / parts.length) * 2 * Math.PI - Math.PI / 2)
  return (
    <div class="circle">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={`A ring of ${parts.length} processes`}>
        <defs>
          <marker id="tip" viewBox="0 0 8 8" refX="6.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 L8 4 L0 8 z" class="tip" />
          </marker>
        </defs>
        {angles.map((from, i) => (
          <path key={`arc ${i}`} class="arc" d={arc(from, parts.length)} marker-end="url(#tip)" />
        ))}
        {parts.map((part, i) => {
          const at = point((angles[i] ?? 0) + Math.PI / parts.length, RADIUS + 12)
          return (
            <text key={part.lock} class="arc-lock" x={at.x} y={at.y + 4} text-anchor={anchor(at.x)}>
              {short(part.lock)}
            </text>
          )
        })}
        {angles.map((angle, i) => {
          const { x, y } = point(angle, RADIUS)
          return (
            <g key={`node ${i}`}>
              <circle class="node" cx={x} cy={y} r={NODE} />
              <text class="node-text" x={x} y={y + 5} text-anchor="middle">
                {i + 1}
              </text>
            </g>
          )
        })}
      </svg>
      <ol class="parties">
        {parts.map((part) => (
          <li key={`${part.who} ${part.lock}`}>
            <Name text={part.who} />
            <small>
              holds {part.holds.map((lock, i) => [i === 0 ? '' : ', ', <LockLink key={lock} lock={lock} />])}
              {' · '}waits for <LockLink lock={part.lock} />, {span(nowMs() - part.askedMs)}
            </small>
          </li>
        ))}
      </ol>
    </div>
  )
}

export function LockLink({ lock }: { readonly lock: string }): JSX.Element {
  return (
    <a href={linkTo(lock)}>
      <Name text={lock} />
    </a>
  )
}

function point(angle: number, radius: number): { readonly x: number; readonly y: number } {
  return { x: CENTRE + radius * Math.cos(angle), y: HEIGHT / 2 + 6 + radius * Math.sin(angle) }
}

/** Along the ring, from the edge of a node to that of the next. */
function arc(from: number, count: number): string {
  const gap = (NODE + 7) / RADIUS
  const start = point(from + gap, RADIUS)
  const end = point(from + (2 * Math.PI) / count - gap, RADIUS)
  const isLarge = (2 * Math.PI) / count - 2 * gap > Math.PI ? 1 : 0
  return `M${start.x} ${start.y} A${RADIUS} ${RADIUS} 0 ${isLarge} 1 ${end.x} ${end.y}`
}

function anchor(x: number): 'start' | 'middle' | 'end' {
  return Math.abs(x - CENTRE) < 10 ? 'middle' : x > CENTRE ? 'start' : 'end'
}

function short(name: string): string {
  const text = plain(name)
  return text.length <= LETTERS ? text : `${text.slice(0, LETTERS - 1)}…`
}
