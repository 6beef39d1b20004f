/** Everything that can happen next in a small world, and the outcome. */
import { type Clients, RULES } from './client.ts'
import { emptyLine, holders, isGrantedIn, type ModelLine, shift } from 'holdfast/conformance'
import { type Budget, type Client, type Leg, type Reply, type Request, type State, TTL, type World } from './state.ts'

export interface Move {
  readonly name: string
  readonly next: State
}

export const NO_FAULTS: Budget = { lost: 0, late: 0, doubled: 0, crash: 0, break: 0, abort: 0 }

export function firstState({ capacity, lines, wishes }: World, budget: Budget): State {
  return {
    lines: Array.from({ length: lines }, () => emptyLine(capacity)),
    clients: wishes.map(({ visits }) => ({ visits, ids: 0, legs: [], undo: [] })),
    requests: [],
    replies: [],
    pushes: [],
    budget,
    seen: Array.from({ length: lines }, () => ({ any: 0, alone: 0 })),
    broken: null,
  }
}

/**
 * Every move, in no order that matters. A call is one step, there and back, unless a fault splits it. Then its request
 * or its answer is under way for any time, or is lost, or arrives twice.
 */
export function moves(state: State, clients: Clients): Move[] {
  const all: Move[] = []
  const add = (name: string, next: State): void => {
    for (const { how, after } of carry(next, clients)) all.push({ name: name + how, next: after })
  }
  for (const request of state.requests) add(`${what(request)} arrives`, deliver(state, clients, request))
  for (const reply of state.replies) add(`the answer to ${what(reply.request)} comes`, clients.receive(state, reply))
  for (const push of state.pushes) {
    const rest = { ...state, pushes: without(state.pushes, push) }
    add(`${push.id} is told that it is granted`, clients.pushed(rest, push.to, push.id))
  }
  for (const [c, client] of state.clients.entries()) ofClient(state, clients, c, client, add)
  if (state.budget.break > 0) {
    for (const [line, { places }] of state.lines.entries()) {
      if (places.some(({ broken }) => !broken)) add(`line ${line} is broken`, breakLine(state, clients, line))
    }
  }
  add('time passes', pass(state))
  return all
}

type Add = (name: string, next: State) => void

interface Carried {
  readonly how: string
  readonly after: State
}

/** What can become of the requests that a step has just sent, and of their answers. */
function carry(state: State, clients: Clients): Carried[] {
  const request = state.requests.find(({ isFresh }) => isFresh)
  if (request === undefined) return [{ how: '', after: state }]
  const sent = { ...request, isFresh: false }
  const rest = { ...state, requests: without(state.requests, request) }
  const under = { ...state, requests: state.requests.map((other) => (other === request ? sent : other)) }
  const answered = deliver(under, clients, sent)
  const reply = answered.replies.at(-1)
  const goOn = (how: string, after: State | null): Carried[] =>
    after === null ? [] : carry(after, clients).map((more) => ({ how: how + more.how, after: more.after }))
  const name = what(request)
  return [
    ...goOn('', reply === undefined ? answered : clients.receive(answered, reply)),
    ...goOn(`; ${name} is late`, spend(under, 'late')),
    ...goOn(`; the answer to ${name} is late`, spend(answered, 'late')),
    ...goOn(`; ${name} is lost`, spend(rest, 'lost')),
    ...goOn(`; the answer to ${name} is lost`, reply === undefined ? null : spend(loseReply(answered, reply), 'lost')),
    ...goOn(`; ${name} comes twice`, spend(twice(answered, clients, sent), 'doubled')),
  ]
}

/** A connection delivers in order: both copies of a request arrive before its answer is heard. */
function twice(answered: State, clients: Clients, sent: Request): State {
  const reply = answered.replies.at(-1)
  const copied = deliver({ ...answered, requests: [...answered.requests, { ...sent, awaited: false }] }, clients, {
    ...sent,
    awaited: false,
  })
  const settled = {
    ...copied,
    requests: copied.requests.filter((other) => other.awaited || other.event !== sent.event),
  }
  return reply === undefined ? settled : clients.receive(settled, reply)
}

function spend(state: State, fault: keyof Budget): State | null {
  const { budget } = state
  return budget[fault] > 0 ? { ...state, budget: { ...budget, [fault]: budget[fault] - 1 } } : null
}

function ofClient(state: State, clients: Clients, c: number, client: Client, add: Add): void {
  const { budget } = state
  const wish = clients.wish(c)
  const name = String.fromCharCode(97 + c)
  const { legs, undo, visits } = client
  const hasAll = legs.length === wish.lines.length
  const acts =
    legs.length > 0 && legs.every(({ phase, left }) => left > 0 && (phase === 'holding' || phase === 'writing'))
  if (legs.length === 0 && visits > 0) add(`${name} asks for line ${wish.lines[0]}`, clients.begin(state, c))
  if (acts && !hasAll && clients.rules.raisesInPlace) add(`${name} asks for its next line`, clients.begin(state, c))
  if (acts && (hasAll || !clients.rules.raisesInPlace)) add(`${name} lets go`, clients.release(state, c))
  for (const leg of legs) ofLeg(state, clients, c, leg, add)
  for (const each of undo) {
    const isSent = [...state.requests, ...state.replies.map(({ request }) => request)].some(
      ({ event }) => event.kind === 'leave' && event.id === each.id,
    )
    if (each.leaves > 0 && !isSent) add(`${name} leaves ${each.id} again`, clients.leave(state, c, each))
    if (!each.asking) continue
    add(`${name} hears nothing of ${each.id}`, clients.undoTimedOut(state, c, each))
  }
  const isGone = legs.length === 0 && undo.length === 0 && visits === 0
  if (budget.crash > 0 && !isGone) {
    const crashed = { visits: 0, ids: client.ids, legs: [], undo: [] }
    add(`${name} crashes`, {
      ...state,
      clients: state.clients.map((each, i) => (i === c ? crashed : each)),
      requests: state.requests.map((each) => (each.from === c ? { ...each, awaited: false } : each)),
      replies: state.replies.filter(({ request }) => request.from !== c),
      budget: { ...budget, crash: budget.crash - 1 },
    })
  }
}

function ofLeg(state: State, clients: Clients, c: number, leg: Leg, add: Add): void {
  const { budget } = state
  const { heavy } = clients.wish(c)
  const { id, phase, left } = leg
  if (phase === 'asking') {
    add(`${id} hears nothing`, clients.timedOut(state, c, leg))
  } else if (phase !== 'told' && left > 0 && isDue(state, leg) && !hasPending(state, c, id, 'touch')) {
    add(`${id} renews`, clients.touch(state, c, leg))
  }
  if ((phase === 'asking' || phase === 'waiting') && budget.abort > 0) {
    const aborted = clients.giveUp({ ...state, budget: { ...budget, abort: budget.abort - 1 } }, c, leg)
    add(`${id} is given up`, aborted)
  }
  if (left <= 0 && phase !== 'asking') add(`${id} finds its time over`, clients.end(state, c, leg))
  const mayHandOn = (clients.world.handovers ?? 0) > leg.counter && left > 0
  if (phase === 'holding' && mayHandOn) add(`${id} is handed on`, clients.handOn(state, c, leg))
  if (phase === 'kept') {
    const { visits } = state.clients[c] as Client
    const isWanted = isAwaited(state.lines[leg.line] as ModelLine, id)
    if (visits > 0 && left > 0 && leg.counter < 2) add(`${id} is taken up again`, takeUp(state, clients, c, leg))
    if (clients.rules.yields && isWanted) add(`${id} hears that it is wanted`, clients.giveUp(state, c, leg))
  }
  if (phase === 'holding' && heavy !== undefined && leg.turn === 0 && left > 0) {
    add(`${id} asks to become heavier`, clients.reweigh(state, c, leg, true))
  }
  if (phase === 'raising' && left > 0 && clients.rules.raisesInPlace) {
    const isBusy = hasPending(state, c, id, 'reweigh')
    if (!isBusy)
      add(`${id} asks once more to become heavier`, clients.reweigh(state, c, { ...leg, turn: leg.turn - 1 }, true))
    if (budget.abort > 0) {
      const spent = { ...state, budget: { ...budget, abort: budget.abort - 1 } }
      add(`${id} wants to be light again`, clients.reweigh(spent, c, leg, false))
    }
  }
  const isBroken = state.lines[leg.line]?.places.some((place) => place.id === id && place.broken) === true
  if (isBroken && phase !== 'told' && phase !== 'asking')
    add(`${id} hears that it is broken`, clients.tell(state, c, leg))
}

/** The request reaches the store, and the store answers in the same step. */
export function deliver(state: State, clients: Clients, request: Request): State {
  const before = state.lines[request.line] as ModelLine
  const { line, answer } = clients.rules.step(before, request.event, 0)
  const lines = state.lines.map((each, i) => (i === request.line ? line : each))
  const requests = without(state.requests, request)
  const replies = request.awaited
    ? [...state.replies, { request: { ...request, isFresh: false }, answer }]
    : state.replies
  const pushes = clients.world.push === true ? [...state.pushes, ...news(before, line, request.event.id)] : state.pushes
  return { ...state, lines, requests, replies, pushes }
}

/** A place is renewed when some of its time has passed, and looked at when the store has granted it. */
function isDue({ lines }: State, { line, id, left, phase }: Leg): boolean {
  if (left < TTL) return true
  const place = lines[line]?.places.find((each) => each.id === id)
  return phase === 'waiting' && (place === undefined || isGrantedIn(lines[line] as ModelLine, place))
}

/** One tick: leases run out in the store, and deadlines in the clients. */
export function pass(state: State): State {
  const older = (request: Request): Request => ({ ...request, age: Math.min(request.age + 1, AGE_MAX) })
  return {
    ...state,
    lines: state.lines.map((line) => lapse(shift(line, 1))),
    clients: state.clients.map((client) => ({
      ...client,
      legs: client.legs
        .map((leg) => ({ ...leg, left: Math.max(0, leg.left - 1) }))
        .filter(({ phase, left }) => phase !== 'told' || left > 0),
    })),
    requests: state.requests.map(older),
    replies: state.replies.map((reply) => ({ ...reply, request: older(reply.request) })),
  }
}

/** Older than any lease. */
const AGE_MAX = 3

/** In the small world a lapsed place goes at once: a purge comes before the next request. */
function lapse(line: ModelLine): ModelLine {
  return RULES.step(line, { kind: 'touch', id: '' }, 0).line
}

function breakLine(state: State, clients: Clients, at: number): State {
  const { line } = clients.rules.step(state.lines[at] as ModelLine, { kind: 'break', atOnce: false }, 0)
  const budget = { ...state.budget, break: state.budget.break - 1 }
  return { ...state, budget, lines: state.lines.map((each, i) => (i === at ? line : each)) }
}

/** The next caller of the process gets the place that stayed with the process. */
export function takeUp(state: State, clients: Clients, c: number, leg: Leg): State {
  const begun = state.clients.map((each, i) => (i === c ? { ...each, visits: each.visits - 1 } : each))
  return clients.handOn({ ...state, clients: begun }, c, leg)
}

/** The places that a step has granted, except the one that asked. */
function news(before: ModelLine, after: ModelLine, asker: string): State['pushes'] {
  const had = new Set(holders(before).map(({ id }) => id))
  return holders(after)
    .filter(({ id, broken }) => !had.has(id) && id !== asker && !broken)
    .map(({ id }) => ({ to: id.charCodeAt(0) - 97, id }))
}

function isAwaited(line: ModelLine, id: string): boolean {
  const inside = new Set(holders(line).map((place) => place.id))
  return line.places.some((place) => place.id !== id && !inside.has(place.id))
}

function hasPending(state: State, c: number, id: string, kind: string): boolean {
  const isIt = ({ from, event, awaited }: Request): boolean =>
    from === c && event.id === id && event.kind === kind && awaited
  return state.requests.some(isIt) || state.replies.some(({ request }) => isIt(request))
}

function loseReply(state: State, reply: Reply): State {
  return { ...state, replies: without(state.replies, reply) }
}

function without<T>(all: readonly T[], one: T): T[] {
  return all.filter((other) => other !== one)
}

function what({ event, line }: Request): string {
  return `${event.kind} ${event.id} (line ${line})`
}
