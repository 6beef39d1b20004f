/** The rounds of Redlock: enter and touch on all servers at once, counted by majority, with a token that it settled. */
import { diagnostics } from '../../contract/events.ts'
import { StoreUnreachableError } from '../../contract/errors.ts'
import { instant } from '../../contract/validity.ts'
import type { Entry, Instant, Place } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'
import type { Keys } from '../redis/keys.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import type { OwnPlace } from './places.ts'
import type { Servers } from './servers.ts'
import { type Deployment, majorityOf } from './deployment.ts'
import type { Tombstone, Tombstones } from './tombstones.ts'
import { poll } from './poll.ts'
import { type Ballot, ballotIn, CODE, type Outcome, Tally } from './tally.ts'
import type { Items, Voter } from './voter.ts'

/** How soon a waiter asks again by itself: soon when the votes are split, else only in case a push was lost. */
const SPLIT_MS = 50
const NET_MS = 500
/** How often a round is asked again at once, since the servers have changed meanwhile. */
const AGAIN = 3

/** When a round began, and by which servers it is counted. */
interface Asked {
  readonly since: Instant
  readonly era: number
  readonly counted: Deployment
}

interface Leaving {
  /** A request to enter may still be under way. */
  readonly isDoubted: boolean
  readonly afterMs: number
  /** A place that was entered again later is not meant. */
  readonly round: number
}

export class Rounds {
  readonly #servers: Servers
  readonly #keys: Keys
  readonly #tombstones: Tombstones
  readonly #retentionMs: number
  readonly #limitMs: number
  /** Names this process to the scripts. */
  readonly #inbox: string

  constructor(
    servers: Servers,
    keys: Keys,
    tombstones: Tombstones,
    settings: { readonly retentionMs: number; readonly nodeTimeoutMs: number },
    inbox: string,
  ) {
    this.#servers = servers
    this.#keys = keys
    this.#tombstones = tombstones
    this.#retentionMs = settings.retentionMs
    this.#limitMs = settings.nodeTimeoutMs
    this.#inbox = inbox
  }

  /** One round of entering. null: no room and no wish to wait, or the id is dead; then nothing is left. */
  async enter(own: OwnPlace, wait: boolean): Promise<Place | null> {
    const { entry } = own
    const { runtime } = this.#servers
    const limitMs = Math.min(this.#limitMs, entry.ttlMs / 3)
    for (let again = 0; ; again++) {
      const { counted, era } = this.#servers
      const since = instant(runtime)
      // In the first round the priority is as good a proposal as any: it was made just now.
      const proposed = own.token ?? (own.round === 0 ? own.priority : this.#servers.propose())
      const round = this.#next(own)
      own.isBusy = true
      const tally = await this.#count(own, limitMs, false, round, (voter) =>
        this.#enterAt(voter, own, proposed, round, wait, counted),
      )
      if (again < AGAIN && (await this.#isChanged([tally]))) continue
      return this.#conclude(own, tally, { since, era, counted })
    }
  }

  /** One round for many places, each counted by itself. */
  async touch(ownPlaces: readonly OwnPlace[], again = 0): Promise<(Place | null)[]> {
    const byLine = new Map<string, OwnPlace[]>()
    for (const own of ownPlaces) {
      const same = byLine.get(own.entry.line)
      if (same === undefined) byLine.set(own.entry.line, [own])
      else same.push(own)
    }
    const order = [...byLine.values()].flat()
    const keys = [...byLine.keys()].map((line) => this.#keys.line(line)[0])
    const { members: asked, total, quorum, runtime, counted, era } = this.#servers
    const since = instant(runtime)
    const tallies = order.map((own) => new Tally(total, quorum, own.isGranted, asked.length))
    const rounds = order.map((own) => this.#next(own))
    const args: Argument[] = [this.#retentionMs]
    for (const same of byLine.values()) {
      args.push(same.length)
      for (const own of same) args.push(own.entry.id, ...this.#proposal(own), own.round)
    }
    for (const own of order) own.isBusy = true
    await poll({
      voters: asked,
      runtime,
      limitMs: Math.min(this.#limitMs, ...order.map(({ entry }) => entry.ttlMs / 3)),
      send: (voter) => voter.ask('touch', keys, args, counted),
      hear: (voter, items) => {
        for (const [i, own] of order.entries()) {
          const ballot = ballotIn(items, i)
          tallies[i]?.hear(voter.index, ballot)
          this.#heard(own, rounds[i] as number, voter, ballot)
        }
      },
      miss: (_, error) => {
        for (const tally of tallies) tally.miss(error)
      },
      isDecided: () => tallies.every(({ outcome }) => outcome !== null),
      isMostlyHeard: () => tallies.every(({ isMostlyHeard }) => isMostlyHeard),
    })
    if (again < AGAIN && (await this.#isChanged(tallies))) return this.touch(ownPlaces, again + 1)
    const places = new Map<OwnPlace, Place | null>()
    const ends = await Promise.allSettled(
      order.map(async (own, i) =>
        places.set(own, await this.#conclude(own, tallies[i] as Tally, { since, era, counted })),
      ),
    )
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return ownPlaces.map((own) => places.get(own) ?? null)
  }

  /** Asks all about one place, and counts. */
  async #count(
    own: OwnPlace,
    limitMs: number,
    isHeld: boolean,
    round: number,
    send: (voter: Voter) => Promise<Items>,
  ): Promise<Tally> {
    const { members: asked, total, quorum, runtime } = this.#servers
    const tally = new Tally(total, quorum, isHeld, asked.length)
    await poll({
      voters: asked,
      runtime,
      limitMs,
      send,
      hear: (voter, items) => {
        const ballot = ballotIn(items, 0)
        tally.hear(voter.index, ballot)
        this.#heard(own, round, voter, ballot)
      },
      miss: (_, error) => tally.miss(error),
      isDecided: () => tally.outcome !== null,
      isMostlyHeard: () => tally.isMostlyHeard,
    })
    return tally
  }

  /** Too few answers came: the servers have changed meanwhile, or one lost its marker. Now they are known. */
  async #isChanged(tallies: readonly Tally[]): Promise<boolean> {
    const failed = tallies.filter((tally) => tally.end() === 'unreachable')
    return failed.length > 0 && this.#servers.calm(failed.flatMap(({ errors }) => errors))
  }

  /** Gives the place up on every server, those that erred included; settles when a quorum has confirmed it. */
  async leave(entry: Entry, own: OwnPlace | undefined, afterMs: number): Promise<void> {
    const { members: voters, quorum, total, runtime } = this.#servers
    if (own !== undefined) own.isOver = true
    // An id that another client entered is left whatever it was asked last: that client counts its own rounds.
    const known = own?.isForeign === false ? own : undefined
    const round = known?.round ?? Number.MAX_SAFE_INTEGER
    const key = own?.key ?? this.#keys.line(entry.line)[0]
    let left = 0
    const errors: Error[] = []
    await poll({
      voters,
      runtime,
      limitMs: this.#limitMs,
      send: (voter) => {
        // On one connection a leave comes behind its own enter; an enter that erred may still be under way elsewhere.
        const isDoubted = known === undefined || known.erred.has(voter.index)
        return this.leaveAt(voter, entry, { isDoubted, afterMs, round }, key)
      },
      hear: () => void left++,
      miss: (voter, error) => {
        errors.push(error)
        if (afterMs === 0 && known?.sent.has(voter.index) !== false) this.#tombstones.add(voter, entry, round)
      },
      isDecided: () => left >= quorum || errors.length > total - quorum + (voters.length - total),
      isMostlyHeard: () => false,
    })
    if (left < quorum) throw this.#servers.unreachable(left, errors, entry.line)
  }

  leaveAt(voter: Voter, entry: Entry, how: Leaving, key: string = this.#keys.line(entry.line)[0]): Promise<Items> {
    const args = [this.#retentionMs, entry.id, entry.ttlMs, how.isDoubted ? 1 : 0, how.afterMs, how.round]
    return voter.ask('leave', [key], args)
  }

  /** Places given up there without an answer. Answers to the ended round or an earlier one are awaited no more. */
  bury(voter: Voter, line: string, tombstones: readonly Tombstone[], ended: number): Promise<Items> {
    const ttlMs = Math.max(...tombstones.map(({ entry }) => entry.ttlMs))
    const places = tombstones.flatMap(({ entry, round }) => [entry.id, round])
    return voter.ask('bury', [this.#keys.line(line)[0]], [this.#retentionMs, this.#inbox, ttlMs, ended, ...places])
  }

  /** A server asks for our vote back, for somebody who came earlier. */
  inquired(own: OwnPlace): void {
    this.#yieldVotes(own)
  }

  #proposal(own: OwnPlace): [number, 0 | 1] {
    return own.token === null ? [this.#servers.propose(), 0] : [own.token, 1]
  }

  #enterAt(
    voter: Voter,
    own: OwnPlace,
    proposed: number,
    round: number,
    wait: boolean,
    counted: Deployment,
  ): Promise<Items> {
    const { line, id, weight, capacity, ttlMs, data } = own.entry
    this.#tombstones.clear(voter, line, id, round)
    const isFixed = own.token === null ? 0 : 1
    const args: Argument[] = [this.#retentionMs, id, weight, capacity, ttlMs, own.priority, proposed, isFixed, round]
    args.push(wait ? 1 : 0, this.#inbox, data)
    if (voter.phase === 'ready') own.asked.add(voter.index)
    // One that is just being met gets it, too. What is not sent at all can't come late: a server that is away is owed
    // nothing for it.
    const isSent = voter.takes
    if (isSent) own.sent.add(voter.index)
    return voter.ask('enter', [own.key], args, counted).then(
      (items) => {
        own.asked.delete(voter.index)
        own.erred.delete(voter.index)
        return items
      },
      (error: unknown) => {
        if (!isSent) throw error
        own.erred.add(voter.index)
        // Given up meanwhile; the server may have done it all the same, and will not tell any more.
        if (own.isOver) this.#tombstones.add(voter, own.entry, round)
        throw error
      },
    )
  }

  /** Every answer, late ones too, tells which servers vote for the place. */
  #heard(own: OwnPlace, round: number, voter: Voter, { at, code, rival }: Ballot): void {
    if (own.isOver) {
      // Given up while this was under way: whatever it did must be undone now that it has ended.
      if (own.isRefused && code === CODE.vote) this.#undo(voter, own, round)
      return
    }
    own.answered(voter.index, at, code === CODE.vote, rival)
    if (own.isBusy || own.isGranted || round !== own.round) return
    // A late answer after the round was given up as not granted.
    this.#yieldVotes(own)
    if (own.votes.size >= this.#servers.quorum) own.wake?.()
  }

  #conclude(own: OwnPlace, tally: Tally, asked: Asked): Place | null | Promise<Place | null> {
    const outcome = tally.end()
    if (asked.era !== this.#servers.era) {
      own.isBusy = false
      throw new StoreUnreachableError('this process stood still while the servers were asked; they are asked again', {
        line: own.entry.line,
      })
    }
    if (outcome !== 'granted' || own.token !== null) return this.#end(own, tally, asked, outcome)
    own.token = tally.agreed
    if (own.token !== null) return this.#end(own, tally, asked, 'granted')
    return this.#settle(own, Math.max(...tally.tokens), asked.counted).then((written) => {
      const settled = written.end()
      // A place that was lost meanwhile is asked for again, like one of which nothing was heard.
      return this.#end(own, written, asked, settled === 'granted' || settled === 'waiting' ? settled : 'unreachable')
    })
  }

  #end(own: OwnPlace, tally: Tally, { since, counted }: Asked, outcome: Outcome): Place | null {
    const { entry } = own
    own.isBusy = false
    switch (outcome) {
      case 'granted':
        own.isGranted = true
        this.#enterAgain(own, tally, counted)
        return { token: BigInt(own.token ?? 0), ahead: 0, recheckMs: null, since, wanted: tally.wanted }
      case 'waiting':
        this.#yieldVotes(own)
        this.#enterAgain(own, tally, counted)
        // Votes were pushed while the answers that say "you wait" were still being read: asked again at once.
        if (own.votes.size >= this.#servers.quorum) own.wake?.()
        return this.#waitingPlace(own, tally, since)
      case 'unreachable':
        this.#yieldVotes(own)
        // Three became four, one of them down: who holds by two of three needs the vote of the new one, and nobody else
        // can have three.
        if (own.isGranted && tally.votes.size > counted.servers.length - majorityOf(counted.servers.length)) {
          this.#enterAgain(own, tally, counted)
        }
        throw this.#servers.unreachable(tally.heard, tally.errors, entry.line)
      case 'refused':
        this.#giveBack(own, tally)
        return null
      case 'gone':
        this.#giveUp(own)
        return null
      case 'mismatch':
        this.#giveUp(own)
        throw capacityError(entry, tally.capacity)
      default:
        return outcome satisfies never
    }
  }

  /**
   * Agrees on the token of a new holder. If a quorum answered the same one, that was it, and each of them remembers it
   * beside our vote. Else the largest is written back, and a server counts only if our vote still lives there, as its
   * script says in the same step: any later holder needs one of those servers, gets its vote after ours has ended
   * there, and so a larger token.
   */
  async #settle(own: OwnPlace, largest: number, counted: Deployment): Promise<Tally> {
    const round = this.#next(own)
    const args = [this.#retentionMs, 1, own.entry.id, largest, 2, round]
    const limitMs = Math.min(this.#limitMs, own.entry.ttlMs / 3)
    const written = await this.#count(own, limitMs, false, round, (voter) =>
      voter.ask('touch', [own.key], args, counted),
    )
    if (written.end() === 'granted') own.token = largest
    return written
  }

  /** Without a majority, a vote that an earlier one waits for is given back: so the first in line collects them all. */
  #yieldVotes(own: OwnPlace): void {
    if (own.isGranted || own.isForeign || own.isOver || own.isBusy) return
    if (own.rivals.size === 0) return
    for (const voter of this.#servers.voters) {
      if (!own.rivals.delete(voter.index) || !own.votes.delete(voter.index)) continue
      const args = [this.#retentionMs, own.entry.id, own.round]
      voter.ask('yield', [own.key], args).catch((error: unknown) => diagnostics.failed(own.entry.line, error))
    }
  }

  /** A server that lost the place, or came late, gets it again while a majority stands, against the next failure. */
  #enterAgain(own: OwnPlace, tally: Tally, counted: Deployment): void {
    const proposed = own.token ?? own.priority
    for (const index of tally.gone) {
      const voter = this.#servers.voters[index]
      // One that erred may still get the old request: to enter twice is to enter once.
      if (voter === undefined || (own.asked.has(index) && !own.erred.has(index))) continue
      const { round } = own
      this.#enterAt(voter, own, proposed, round, true, counted).then(
        (items) => this.#heard(own, round, voter, ballotIn(items, 0)),
        (error: unknown) => diagnostics.failed(own.entry.line, error),
      )
    }
  }

  /** Nothing of it may vote against anybody, least of all against our own next round. */
  #giveUp(own: OwnPlace): void {
    this.leave(own.entry, own, 0).catch((error: unknown) => diagnostics.failed(own.entry.line, error))
  }

  /** A try that failed has places only where it got a vote, or will get one late. */
  #giveBack(own: OwnPlace, { votes }: Tally): void {
    own.isOver = true
    own.isRefused = true
    const { round } = own
    for (const voter of this.#servers.voters) {
      if (votes.has(voter.index)) this.#undo(voter, own, round)
      // One that erred may have voted all the same; a late answer is dealt with when it comes.
      else if (own.erred.has(voter.index)) this.#tombstones.add(voter, own.entry, round)
    }
  }

  #undo(voter: Voter, { entry }: OwnPlace, round: number): void {
    this.leaveAt(voter, entry, { isDoubted: false, afterMs: 0, round }).catch((error: unknown) => {
      diagnostics.failed(entry.line, error)
      this.#tombstones.add(voter, entry, round)
    })
  }

  #next(own: OwnPlace): number {
    own.begin(++this.#servers.round)
    return own.round
  }

  #waitingPlace(own: OwnPlace, tally: Tally, since: Instant): Place {
    const { random } = this.#servers.runtime
    const baseMs = own.votes.size > 0 ? SPLIT_MS : NET_MS
    const recheckMs = Math.min(tally.earliestMs, baseMs * (1 + random()))
    const { capacity } = own.entry
    return { token: BigInt(own.priority), ahead: capacity, recheckMs, since, wanted: tally.wanted }
  }
}
