/** What a client does with what it learns: the rules of core, as pure steps on one world. */
import { type LineEvent, type ModelAnswer, stepLine, type StepLine } from 'holdfast/conformance'
import {
  type Client,
  type Leg,
  type Reply,
  type Request,
  type State,
  TTL,
  type Undo,
  type Wish,
  type World,
} from './state.ts'

/** Rules that a planted fault breaks. The rules of the line are in `step`. */
export interface Rules {
  readonly step: StepLine
  /** How long a client trusts an answer whose request was sent `age` ticks ago. */
  readonly believed: (age: number) => number
  /** Whether an answer that is too old to trust can be a grant. */
  readonly takesLateAnswers: boolean
  /** How many leaves give up a place whose enter got no answer. */
  readonly leavesWhenDoubted: number
  /** A repeated request has the id of the first. */
  readonly keepsId: boolean
  /** Each hand-over raises the token. */
  readonly counts: boolean
  /** A client that goes away gives up what it asked for. */
  readonly undoes: boolean
  /** A client trusts a push only until its own deadline. */
  readonly doubtsPushes: boolean
  /** Several lines are asked for in the order of their names. */
  readonly sortsLines: boolean
  /** A kept place is given back when somebody else wants it. */
  readonly yields: boolean
  /** By the token a holder notices that another place stands under its id. */
  readonly knowsItsPlace: boolean
  /** The answer to a renewal counts as the answer to an upgrade. */
  readonly readsRenewals: boolean
  /** An upgrade is one step on the own place; else it is a second place at the end of the line. */
  readonly raisesInPlace: boolean
}

export const RULES: Rules = {
  step: stepLine,
  believed: (age) => TTL - age,
  takesLateAnswers: false,
  leavesWhenDoubted: 2,
  keepsId: true,
  counts: true,
  undoes: true,
  doubtsPushes: true,
  sortsLines: true,
  yields: true,
  knowsItsPlace: true,
  readsRenewals: false,
  raisesInPlace: true,
}

/** How often a client may begin anew: so a world stays small. */
const RESTARTS = 1

export class Clients {
  readonly world: World
  readonly rules: Rules

  constructor(world: World, rules: Rules) {
    this.world = world
    this.rules = rules
  }

  wish(c: number): Wish {
    return this.world.wishes[c] as Wish
  }

  /** Asks for the first line of its wish, or for the next. */
  begin(state: State, c: number): State {
    const { legs, visits } = state.clients[c] as Client
    const wanted = this.rules.sortsLines ? this.wish(c).lines.toSorted((a, b) => a - b) : this.wish(c).lines
    const line = wanted[legs.length] as number
    const begun = this.#client(state, c, { visits: legs.length === 0 ? visits - 1 : visits })
    return this.#enter(begun, c, line)
  }

  /** The answer that a client waited for has come. */
  receive(state: State, reply: Reply): State {
    const { request, answer } = reply
    const after = { ...state, replies: state.replies.filter((other) => other !== reply) }
    const { from: c, event, age } = request
    if (event.kind === 'leave') return this.#confirmed(after, c, event.id)
    const { legs, undo } = state.clients[c] as Client
    const leg = legs.find(({ id }) => id === event.id)
    if (leg === undefined) {
      // The client left while the request was under way: undo now whatever it did.
      const given = undo.find(({ id, asking }) => id === event.id && asking)
      if (event.kind !== 'enter' || given === undefined) return after
      return answer === null
        ? this.#settled(after, c, given)
        : this.#undo(after, c, { ...given, leaves: 1, asking: false })
    }
    return this.#learn(after, c, leg, event, answer, this.rules.believed(age))
  }

  /** A push is the grant itself, if it comes in time. */
  pushed(state: State, c: number, id: string): State {
    const leg = this.#leg(state, c, id)
    if (leg?.phase !== 'waiting') return state
    if (this.rules.doubtsPushes && leg.left <= 0) return state
    return this.#grant(state, c, { ...leg, left: Math.max(leg.left, this.rules.doubtsPushes ? 0 : 1) })
  }

  /** No answer has come. Ask again with the same id while it can name a living place, else with another. */
  timedOut(state: State, c: number, leg: Leg): State {
    const silenced = this.#deafen(state, c, leg.id)
    const doubtful = this.#put(silenced, c, { ...leg, doubted: true })
    const client = state.clients[c] as Client
    const sent = client.legs.find(({ id }) => id === leg.id)
    if (!this.rules.keepsId) return this.#enter(this.#drop(doubtful, c, leg.id), c, leg.line)
    if (sent !== undefined && leg.left > 0) return this.#send(doubtful, c, leg.line, this.#entering(state, c, leg.id))
    return this.#startOver(doubtful, c, { ...leg, doubted: true })
  }

  /** An enter that nobody waits for any more got no answer: it may yet arrive. */
  undoTimedOut(state: State, c: number, undo: Undo): State {
    const silenced = this.#deafen(state, c, undo.id)
    return this.#undo(this.#settled(silenced, c, undo), c, {
      ...undo,
      asking: false,
      leaves: this.rules.leavesWhenDoubted,
    })
  }

  touch(state: State, c: number, leg: Leg): State {
    return this.#send(state, c, leg.line, { kind: 'touch', id: leg.id })
  }

  /** Hands the place to the next caller of this process, with a higher token. */
  handOn(state: State, c: number, leg: Leg): State {
    return this.#hold(state, c, { ...leg, phase: 'holding', counter: leg.counter + (this.rules.counts ? 1 : 0) })
  }

  /** Asks to become heavier, or to be light again. */
  reweigh(state: State, c: number, leg: Leg, heavy: boolean): State {
    const wish = this.wish(c)
    if (!this.rules.raisesInPlace) return this.#enter(this.#put(state, c, { ...leg, phase: 'raising' }), c, leg.line)
    const turn = leg.turn + 1
    const weight = heavy ? (wish.heavy as number) : wish.weight
    const asked = this.#put(state, c, { ...leg, turn, phase: heavy ? 'raising' : 'holding' })
    return this.#send(asked, c, leg.line, { kind: 'reweigh', id: leg.id, weight, turn })
  }

  /** The work has ended: the client gives back everything. */
  release(state: State, c: number): State {
    const { legs } = state.clients[c] as Client
    const [only] = legs
    if (this.world.keep === true && legs.length === 1 && only?.phase === 'holding') {
      return this.#put(state, c, { ...only, phase: 'kept' })
    }
    return legs.reduce((after, leg) => this.giveUp(after, c, leg), state)
  }

  /** Gives one place up, asked for or held. */
  giveUp(state: State, c: number, leg: Leg): State {
    const gone = this.#drop(state, c, leg.id)
    if (!this.rules.undoes) return gone
    const leaves = leg.doubted ? this.rules.leavesWhenDoubted : 1
    return this.#undo(gone, c, { line: leg.line, id: leg.id, leaves, asking: leg.phase === 'asking' })
  }

  /** Its own deadline has passed, or it was told: a waiter enters again, a holder has lost. */
  end(state: State, c: number, leg: Leg): State {
    if (leg.phase === 'waiting' || leg.phase === 'asking') return this.#startOver(state, c, leg)
    return this.giveUp(this.#giveUpOthers(state, c, leg), c, leg)
  }

  /** It hears that its place was broken. It releases at once; its work may go on until its own deadline. */
  tell(state: State, c: number, leg: Leg): State {
    const left = this.giveUp(this.#giveUpOthers(state, c, leg), c, leg)
    return this.#put(left, c, { ...leg, phase: 'told', heavy: leg.phase === 'writing' })
  }

  /** A client that wants several locks together has lost one, so it gives up the others. */
  #giveUpOthers(state: State, c: number, leg: Leg): State {
    const { legs } = state.clients[c] as Client
    return legs.filter(({ id }) => id !== leg.id).reduce((after, other) => this.giveUp(after, c, other), state)
  }

  #learn(state: State, c: number, leg: Leg, event: LineEvent, answer: ModelAnswer | null, left: number): State {
    if (answer === null) {
      if (event.kind === 'enter' && leg.phase === 'asking') return this.#refused(state, c, leg)
      if (leg.phase === 'waiting') return this.#startOver(state, c, leg)
      return leg.phase === 'told' ? state : this.tell(state, c, leg)
    }
    // The place lapsed, and a late enter with the same id made another: the holder of the first holds no more.
    const isHolder = leg.phase !== 'asking' && leg.phase !== 'waiting' && leg.phase !== 'told'
    if (isHolder && answer.token !== leg.token && this.rules.knowsItsPlace) return this.tell(state, c, leg)
    const known = { ...leg, token: answer.token, left: Math.max(leg.phase === 'asking' ? 0 : leg.left, left) }
    // A pauses; its place lapses; B enters; A reads the old answer. That answer is no grant.
    const isUsable = known.left > 0 || this.rules.takesLateAnswers
    switch (leg.phase) {
      case 'asking':
      case 'waiting':
        if (!isUsable) return this.#startOver(state, c, leg)
        return answer.granted ? this.#grant(state, c, known) : this.#put(state, c, { ...known, phase: 'waiting' })
      case 'raising': {
        // A renewal may have been under way when the client asked to become heavier: its answer says nothing of that.
        const isAnswer = this.rules.readsRenewals || (event.kind === 'reweigh' && event.turn === leg.turn)
        return this.#put(state, c, isAnswer && answer.granted && isUsable ? { ...known, phase: 'writing' } : known)
      }
      case 'kept':
        return answer.wanted && this.rules.yields ? this.giveUp(state, c, known) : this.#put(state, c, known)
      case 'holding':
      case 'writing':
        return this.#put(state, c, known)
      case 'told':
        return state
      default:
        throw new Error('no such phase')
    }
  }

  #refused(state: State, c: number, leg: Leg): State {
    const gone = this.#drop(state, c, leg.id)
    return leg.doubted && this.rules.undoes
      ? this.#undo(gone, c, { line: leg.line, id: leg.id, leaves: this.rules.leavesWhenDoubted, asking: false })
      : gone
  }

  #grant(state: State, c: number, leg: Leg): State {
    return this.#hold(state, c, { ...leg, phase: 'holding' })
  }

  /** A hold begins: its token must be larger than those before it. */
  #hold(state: State, c: number, leg: Leg): State {
    const token = leg.token * 8 + leg.counter
    const alone = this.wish(c).weight === this.world.capacity
    const { any, alone: last } = state.seen[leg.line] as State['seen'][number]
    const isOlder = token <= (alone ? any : last)
    const seen = { any: Math.max(any, token), alone: alone ? Math.max(last, token) : last }
    const held = this.#put(state, c, leg)
    return {
      ...held,
      seen: state.seen.map((each, line) => (line === leg.line ? seen : each)),
      broken: isOlder ? `tokens: ${leg.id} holds with token ${token} after ${alone ? any : last}` : state.broken,
    }
  }

  /** A waiter whose place is gone enters again, while the world lets it. */
  #startOver(state: State, c: number, leg: Leg): State {
    const { ids } = state.clients[c] as Client
    if (ids >= this.wish(c).visits + RESTARTS * this.wish(c).lines.length)
      return this.giveUp(this.#giveUpOthers(state, c, leg), c, leg)
    return this.#enter(this.giveUp(state, c, leg), c, leg.line)
  }

  #enter(state: State, c: number, line: number): State {
    const { ids, legs } = state.clients[c] as Client
    const id = `${String.fromCharCode(97 + c)}${ids + 1}`
    const blank = { token: 0, counter: 0, doubted: false, turn: 0, heavy: false }
    const leg: Leg = { line, id, phase: 'asking', left: TTL, ...blank }
    const entered = this.#client(state, c, { ids: ids + 1, legs: [...legs, leg] })
    return this.#send(entered, c, line, this.#entering(entered, c, id))
  }

  #entering(state: State, c: number, id: string): LineEvent & { id: string } {
    const { weight, heavy, wait } = this.wish(c)
    const isSecond = !this.rules.raisesInPlace && (state.clients[c] as Client).legs[0]?.id !== id
    return { kind: 'enter', id, weight: isSecond ? (heavy ?? 0) - weight : weight, ttl: TTL, wait: wait !== false }
  }

  #undo(state: State, c: number, undo: Undo): State {
    const { undo: others } = state.clients[c] as Client
    const rest = others.filter(({ id }) => id !== undo.id)
    return this.leave(this.#client(state, c, { undo: [...rest, undo] }), c, undo)
  }

  leave(state: State, c: number, { line, id }: Pick<Undo, 'line' | 'id'>): State {
    return this.#send(state, c, line, { kind: 'leave', id })
  }

  #confirmed(state: State, c: number, of: string): State {
    const undo = (state.clients[c] as Client).undo.find(({ id }) => id === of)
    if (undo === undefined) return state
    const leaves = Math.max(0, undo.leaves - 1)
    if (leaves === 0 && !undo.asking) return this.#settled(state, c, undo)
    const { undo: others } = state.clients[c] as Client
    const after = this.#client(state, c, { undo: others.map((each) => (each === undo ? { ...undo, leaves } : each)) })
    return leaves > 0 ? this.leave(after, c, undo) : after
  }

  #settled(state: State, c: number, undo: Undo): State {
    return this.#client(state, c, { undo: (state.clients[c] as Client).undo.filter(({ id }) => id !== undo.id) })
  }

  /** Answers to earlier requests are not heard any more. */
  #deafen(state: State, c: number, id: string): State {
    const isIt = ({ from, event }: Request): boolean => from === c && event.id === id && event.kind === 'enter'
    return {
      ...state,
      requests: state.requests.map((request) => (isIt(request) ? { ...request, awaited: false } : request)),
      replies: state.replies.filter(({ request }) => !isIt(request)),
    }
  }

  #send(state: State, from: number, line: number, event: LineEvent & { readonly id: string }): State {
    return { ...state, requests: [...state.requests, { from, line, event, age: 0, awaited: true, isFresh: true }] }
  }

  #leg(state: State, c: number, of: string): Leg | undefined {
    return (state.clients[c] as Client).legs.find(({ id }) => id === of)
  }

  #put(state: State, c: number, leg: Leg): State {
    const { legs } = state.clients[c] as Client
    const isKnown = legs.some(({ id }) => id === leg.id)
    return this.#client(state, c, {
      legs: isKnown ? legs.map((each) => (each.id === leg.id ? leg : each)) : [...legs, leg],
    })
  }

  #drop(state: State, c: number, of: string): State {
    return this.#client(state, c, { legs: (state.clients[c] as Client).legs.filter(({ id }) => id !== of) })
  }

  #client(state: State, c: number, change: Partial<Client>): State {
    return { ...state, clients: state.clients.map((each, i) => (i === c ? { ...each, ...change } : each)) }
  }
}
