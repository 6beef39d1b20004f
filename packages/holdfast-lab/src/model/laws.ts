/** The laws, as what must be true of every state that a small world can reach. */
import type { Clients } from './client.ts'
import { holders } from 'holdfast/conformance'
import type { Leg, State } from './state.ts'

/** Which law a state breaks, in one sentence; null: none. */
export function brokenLaw(state: State, clients: Clients, hasCrashed: boolean): string | null {
  const law = state.broken ?? exclusion(state, clients) ?? order(state) ?? honesty(state)
  return law ?? (hasCrashed ? null : orphan(state))
}

/** All clients that may act do act: their weights together must fit into the capacity. */
function exclusion(state: State, clients: Clients): string | null {
  for (const [at, { capacity }] of state.lines.entries()) {
    const inside = state.clients.flatMap(({ legs }, c) =>
      legs.filter(({ line }) => line === at).map((leg) => ({ id: leg.id, weight: acting(clients, c, leg) })),
    )
    const weight = inside.reduce((sum, each) => sum + each.weight, 0)
    if (weight <= capacity) continue
    const names = inside.flatMap((each) => (each.weight > 0 ? [each.id] : []))
    return `exclusion: ${names.join(' and ')} act on line ${at}, ${weight} of ${capacity}`
  }
  return null
}

/** With what weight a client may be at work: until its own deadline, even if it has heard of its loss. */
function acting(clients: Clients, c: number, { phase, left, heavy, id }: Leg): number {
  if (left <= 0 || phase === 'asking' || phase === 'waiting' || phase === 'kept') return 0
  const wish = clients.wish(c)
  const isSecond = !clients.rules.raisesInPlace && !id.endsWith('1')
  if (isSecond) return (wish.heavy ?? 0) - wish.weight
  return phase === 'writing' || heavy ? (wish.heavy ?? wish.weight) : wish.weight
}

/** Nobody is granted while somebody who came earlier waits. */
function order({ lines }: State): string | null {
  for (const [at, line] of lines.entries()) {
    const inside = new Set(holders(line).map(({ id }) => id))
    const first = line.places.findIndex(({ id }) => !inside.has(id))
    const passed = first < 0 ? undefined : line.places.slice(first).find(({ id }) => inside.has(id))
    if (passed !== undefined) return `order: ${passed.id} holds line ${at} before ${line.places[first]?.id}`
  }
  return null
}

/** What a client believes is true: its place stands for at least as long. */
function honesty({ clients, lines }: State): string | null {
  for (const { legs } of clients) {
    for (const { id, line, left, phase } of legs) {
      if (left <= 0 || phase === 'asking' || phase === 'told') continue
      const place = lines[line]?.places.find((each) => each.id === id)
      if (place === undefined) return `honesty: ${id} believes in a place that is gone`
      if (place.lapsesAt < left) return `honesty: ${id} believes for longer than its lease lasts`
    }
  }
  return null
}

/**
 * When nobody wants anything any more and nothing is under way, nothing is left; only a crash leaves a place behind.
 */
function orphan({ clients, lines, requests, replies }: State): string | null {
  if (requests.length > 0 || replies.length > 0) return null
  if (clients.some(({ legs, undo }) => legs.length > 0 || undo.length > 0)) return null
  const left = lines.flatMap(({ places }) => places.filter(({ broken }) => !broken))
  return left.length === 0 ? null : `orphan: ${left.map(({ id }) => id).join()} stands for nobody`
}
