/**
 * Liveness: from here on nothing more goes wrong, and holders release. Then everybody must be served, and the lines
 * must be empty in the end. One schedule is enough: it never helps anybody, it only keeps moving.
 */
import type { Clients } from './client.ts'
import { deliver, pass, takeUp } from './moves.ts'
import { Keys } from './key.ts'
import type { Client, State } from './state.ts'

/** The next state of a world that has come to rest from faults; null: nothing is left to do. */
export function calmly(state: State, clients: Clients): State | null {
  const [request] = state.requests
  if (request !== undefined) return deliver(state, clients, request)
  const [reply] = state.replies
  if (reply !== undefined) return clients.receive(state, reply)
  const acted = act(state, clients)
  if (acted !== null) return acted
  const isOver = state.clients.every(({ legs, undo, visits }) => legs.length + undo.length + visits === 0)
  const isEmpty = state.lines.every(({ places }) => places.length === 0)
  return isOver && isEmpty ? null : renewAll(pass({ ...state, pushes: [] }), clients)
}

/** What a client does without the passing of time: it ends its work, asks for its next line, repeats what was lost. */
function act(state: State, clients: Clients): State | null {
  for (const [c, client] of state.clients.entries()) {
    const next = actOf(state, clients, c, client)
    if (next !== null) return next
  }
  return null
}

function actOf(state: State, clients: Clients, c: number, client: Client): State | null {
  const { legs, undo, visits } = client
  const [asking] = undo
  if (asking?.asking === true) return clients.undoTimedOut(state, c, asking)
  if (asking !== undefined && asking.leaves > 0) return clients.leave(state, c, asking)
  for (const leg of legs) {
    if (leg.phase === 'asking') return clients.timedOut(state, c, leg)
    if (leg.left <= 0) return clients.end(state, c, leg)
    const place = state.lines[leg.line]?.places.find(({ id }) => id === leg.id)
    if (place?.broken === true && leg.phase !== 'told') return clients.tell(state, c, leg)
    // It goes when its time is over, at the latest.
    if (leg.phase === 'kept' && visits === 0 && clients.rules.yields) return clients.giveUp(state, c, leg)
    if (leg.phase === 'kept' && visits === 0) return null
    if (leg.phase === 'kept') return leg.counter < 2 ? takeUp(state, clients, c, leg) : clients.giveUp(state, c, leg)
  }
  const wish = clients.wish(c)
  if (legs.length === 0) return visits > 0 ? clients.begin(state, c) : null
  if (!legs.every(({ phase }) => phase === 'holding' || phase === 'writing')) return null
  if (legs.length < wish.lines.length) return clients.begin(state, c)
  return clients.release(state, c)
}

/** Whoever stands in a line renews once a tick, and so learns where it stands. */
function renewAll(state: State, clients: Clients): State {
  let after = state
  for (const [c, { legs }] of state.clients.entries()) {
    for (const leg of legs) {
      if (leg.phase === 'told' || leg.left <= 0) continue
      after = clients.touch(after, c, leg)
      // The upgrade is asked for again, with the same number.
      if (leg.phase === 'raising' && clients.rules.raisesInPlace) {
        after = clients.reweigh(after, c, { ...leg, turn: leg.turn - 1 }, true)
      }
    }
  }
  return after
}

/** States from which everybody is served, by their keys. */
export class Liveness {
  readonly #clients: Clients
  readonly #keys: Keys
  readonly #live = new Set<string>()

  constructor(clients: Clients) {
    this.#clients = clients
    this.#keys = new Keys(clients.world)
  }

  /** Whether a calm world comes to its end from here; else the states between which it circles. */
  check(state: State): 'live' | readonly State[] {
    const path: State[] = []
    const keys = new Map<string, number>()
    for (let at: State | null = calmState(state); at !== null; at = calmly(at, this.#clients)) {
      const key = this.#keys.of(at)
      if (this.#live.has(key)) break
      const before = keys.get(key)
      if (before !== undefined) return path.slice(before)
      keys.set(key, path.length)
      path.push(at)
    }
    for (const key of keys.keys()) this.#live.add(key)
    return 'live'
  }
}

/** Faults are over: budgets do not tell two calm states apart. */
function calmState(state: State): State {
  return { ...state, budget: { lost: 0, late: 0, doubled: 0, crash: 0, break: 0, abort: 0 } }
}
