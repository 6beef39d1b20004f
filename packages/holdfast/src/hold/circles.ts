/**
 * Finds waiters that nobody will ever serve. The data of a waiter's place says what its caller holds; from that and the
 * lines this file works backwards. A caller whom no waiter holds up will go on, and will release what it holds; then
 * the callers behind it will go on, too. When nothing more can be released, the waiters that are left wait in a circle.
 */
import type { LineView, PlaceView } from '../contract/driver.ts'

/** A place that waits while its caller holds other places. */
export interface Entangled {
  readonly line: string
  readonly place: PlaceView
  /** The waiters that stand ahead of this place: indexes into the same list. */
  readonly blockedBy: readonly number[]
}

interface Node {
  readonly line: LineView
  readonly place: PlaceView
  /** All places of the line that stand ahead of this place. */
  readonly ahead: readonly PlaceView[]
}

const keyOf = (line: string, token: bigint): string => `${token} ${line}`

/** Of all waiters, those that wait in a circle. */
export function findEntangled(lines: readonly LineView[]): Entangled[] {
  const nodes: Node[] = []
  /** For each place: the waiters whose caller holds that place, or the waiter that is that place. */
  const agents = new Map<string, Node[]>()
  const add = (key: string, node: Node): void => {
    agents.set(key, [...(agents.get(key) ?? []), node])
  }
  for (const line of lines) {
    const places = [...line.holders, ...line.waiters]
    for (const [i, place] of line.waiters.entries()) {
      const node = { line, place, ahead: places.slice(0, line.holders.length + i) }
      nodes.push(node)
      add(keyOf(line.name, place.token), node)
      for (const held of place.holds ?? []) add(keyOf(held.line, held.token), node)
    }
  }
  const stuck = new Set(nodes)
  const isStuck = (line: string, place: PlaceView): boolean =>
    (agents.get(keyOf(line, place.token)) ?? []).some((node) => stuck.has(node))
  for (let changed = true; changed; ) {
    changed = false
    for (const node of stuck) {
      const { line, place, ahead } = node
      const weight = ahead.filter((other) => isStuck(line.name, other)).reduce((sum, other) => sum + other.weight, 0)
      if (weight + place.weight > line.capacity) continue
      stuck.delete(node)
      changed = true
    }
  }
  const left = [...stuck]
  return left.map(({ line, place, ahead }) => ({
    line: line.name,
    place,
    blockedBy: left.flatMap((other, i) =>
      ahead.some((one) => (agents.get(keyOf(line.name, one.token)) ?? []).includes(other)) ? [i] : [],
    ),
  }))
}

/** The circles among them, each once. */
export function findCircles(entangled: readonly Entangled[]): Entangled[][] {
  const circles: Entangled[][] = []
  const done = new Set<number>()
  for (let start = 0; start < entangled.length; start++) {
    const path: number[] = []
    for (let at: number | undefined = start; at !== undefined && !done.has(at); at = entangled[at]?.blockedBy[0]) {
      const from = path.indexOf(at)
      if (from >= 0) {
        circles.push(path.slice(from).map((i) => entangled[i] as Entangled))
        break
      }
      path.push(at)
    }
    for (const i of path) done.add(i)
  }
  return circles
}
