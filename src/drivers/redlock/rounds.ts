/** The rounds of Redlock: enter and touch on all servers at once, counted by majority, with a token that a majority has settled. */
import { diagnostics } from '../../core/diagnostics.ts'
import { CapacityMismatchError, StoreUnreachableError } from '../../core/errors.ts'
import { instant } from '../../core/validity.ts'
import type { Entry, Instant, Place } from '../../driver.ts'
import type { Keys } from '../redis/keys.ts'
import type { Argument } from '../redis/wire/encode.ts'
import type { Claim } from './claim.ts'
import type { Council } from './council.ts'
import type { Debt, Janitor } from './janitor.ts'
import { poll } from './poll.ts'
import { type Ballot, ballotIn, CODE, type Outcome, Tally } from './tally.ts'
import type { Items, Voter } from './voter.ts'

/** How soon a waiter asks again by itself: soon when the votes are split, else only in case a push was lost. */
const SPLIT_MS = 50
const NET_MS = 500

interface Leaving {
  /** A request to enter may still be under way. */
  readonly isDoubted: boolean
  readonly afterMs: number
  /** A place that was entered again later is not meant. */
  readonly round: number
}

export class Rounds {
  readonly #council: Council
  readonly #keys: Keys
  readonly #janitor: Janitor
  readonly #retentionMs: number
  readonly #limitMs: number
  /** Names this process to the scripts. */
  readonly #inbox: string

  constructor(
    council: Council,
    keys: Keys,
    janitor: Janitor,
    settings: { readonly retentionMs: number; readonly nodeTimeoutMs: number },
    inbox: string,
  ) {
    this.#council = council
    this.#keys = keys
    this.#janitor = janitor
    this.#retentionMs = settings.retentionMs
    this.#limitMs = settings.nodeTimeoutMs
    this.#inbox = inbox
  }

  /** One round of entering. null: no room and no wish to wait, or the id is dead; then nothing is left. */
  async enter(claim: Claim, wait: boolean): Promise<Place | null> {
    const { entry } = claim
    const { voters, quorum, runtime } = this.#council
    const since = instant(runtime)
    const { era } = this.#council
    // In the first round the priority is as good a proposal as any: it was made just now.
    const proposed = claim.token ?? (claim.round === 0 ? claim.priority : this.#council.propose())
    const round = this.#next(claim)
    const tally = new Tally(voters.length, quorum, false)
    claim.isBusy = true
    await poll({
      voters,
      runtime,
      limitMs: Math.min(this.#limitMs, entry.ttlMs / 3),
      send: (voter) => this.#enterAt(voter, claim, proposed, round, wait),
      hear: (voter, items) => {
        const ballot = ballotIn(items, 0)
        tally.hear(voter.index, ballot)
        this.#heard(claim, round, voter, ballot)
      },
      miss: (_, error) => tally.miss(error),
      isDecided: () => tally.outcome !== null,
      isMostlyHeard: () => tally.isMostlyHeard,
    })
    return this.#conclude(claim, tally, since, era)
  }

  /** One round for many places, each counted by itself. */
  async touch(claims: readonly Claim[]): Promise<(Place | null)[]> {
    const { voters, quorum, runtime } = this.#council
    const since = instant(runtime)
    const { era } = this.#council
    const byLine = new Map<string, Claim[]>()
    for (const claim of claims) {
      const same = byLine.get(claim.entry.line)
      if (same === undefined) byLine.set(claim.entry.line, [claim])
      else same.push(claim)
    }
    const order = [...byLine.values()].flat()
    const tallies = order.map((claim) => new Tally(voters.length, quorum, claim.isGranted))
    const rounds = order.map((claim) => this.#next(claim))
    const keys = [...byLine.keys()].map((line) => this.#keys.line(line)[0])
    const args: Argument[] = [this.#retentionMs]
    for (const same of byLine.values()) {
      args.push(same.length)
      for (const claim of same) args.push(claim.entry.id, ...this.#proposal(claim), claim.round)
    }
    for (const claim of order) claim.isBusy = true
    await poll({
      voters,
      runtime,
      limitMs: Math.min(this.#limitMs, ...order.map(({ entry }) => entry.ttlMs / 3)),
      send: (voter) => voter.ask('touch', keys, args),
      hear: (voter, items) => {
        for (const [i, claim] of order.entries()) {
          const ballot = ballotIn(items, i)
          tallies[i]?.hear(voter.index, ballot)
          this.#heard(claim, rounds[i] as number, voter, ballot)
        }
      },
      miss: (_, error) => {
        for (const tally of tallies) tally.miss(error)
      },
      isDecided: () => tallies.every(({ outcome }) => outcome !== null),
      isMostlyHeard: () => tallies.every(({ isMostlyHeard }) => isMostlyHeard),
    })
    const places = new Map<Claim, Place | null>()
    const ends = await Promise.allSettled(
      order.map(async (claim, i) => places.set(claim, await this.#conclude(claim, tallies[i] as Tally, since, era))),
    )
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    return claims.map((claim) => places.get(claim) ?? null)
  }

  /** Gives the place up on every server, those that erred included; settles when a quorum has confirmed it. */
  async leave(entry: Entry, claim: Claim | undefined, afterMs: number): Promise<void> {
    const { voters, quorum, runtime } = this.#council
    if (claim !== undefined) claim.isOver = true
    // An id that another client entered is left whatever it was asked last: that client counts its own rounds.
    const own = claim?.isForeign === false ? claim : undefined
    const round = own?.round ?? Number.MAX_SAFE_INTEGER
    const key = claim?.key ?? this.#keys.line(entry.line)[0]
    let left = 0
    const errors: Error[] = []
    await poll({
      voters,
      runtime,
      limitMs: this.#limitMs,
      send: (voter) => {
        // On one connection a leave comes behind its own enter; only one that erred may still be under way on an older one.
        const isDoubted = own === undefined || own.erred.has(voter.index)
        return this.leaveAt(voter, entry, { isDoubted, afterMs, round }, key)
      },
      hear: () => void left++,
      miss: (voter, error) => {
        errors.push(error)
        if (afterMs === 0 && own?.sent.has(voter.index) !== false) this.#janitor.add(voter, entry, round)
      },
      isDecided: () => left >= quorum || errors.length > voters.length - quorum,
      isMostlyHeard: () => false,
    })
    if (left < quorum) throw this.#council.unreachable(left, errors, entry.line)
  }

  leaveAt(voter: Voter, entry: Entry, how: Leaving, key: string = this.#keys.line(entry.line)[0]): Promise<Items> {
    const args = [this.#retentionMs, entry.id, entry.ttlMs, how.isDoubted ? 1 : 0, how.afterMs, how.round]
    return voter.ask('leave', [key], args)
  }

  /** Places given up there without an answer. Of what was sent in the ended round or before, no answer is waited for any more. */
  disown(voter: Voter, line: string, debts: readonly Debt[], ended: number): Promise<Items> {
    const ttlMs = Math.max(...debts.map(({ entry }) => entry.ttlMs))
    const places = debts.flatMap(({ entry, round }) => [entry.id, round])
    return voter.ask('disown', [this.#keys.line(line)[0]], [this.#retentionMs, this.#inbox, ttlMs, ended, ...places])
  }

  /** A server asks for our vote back, for somebody who came earlier. */
  inquired(claim: Claim): void {
    this.#yieldVotes(claim)
  }

  #proposal(claim: Claim): [number, 0 | 1] {
    return claim.token === null ? [this.#council.propose(), 0] : [claim.token, 1]
  }

  #enterAt(voter: Voter, claim: Claim, proposed: number, round: number, wait: boolean): Promise<Items> {
    const { line, id, weight, capacity, ttlMs, data } = claim.entry
    this.#janitor.clear(voter, line, id, round)
    const isFixed = claim.token === null ? 0 : 1
    const args: Argument[] = [this.#retentionMs, id, weight, capacity, ttlMs, claim.priority, proposed, isFixed, round]
    args.push(wait ? 1 : 0, this.#inbox, data)
    if (voter.phase === 'ready') claim.asked.add(voter.index)
    // One that is just being met gets it, too. What is not sent at all can't come late: a server that is away is owed nothing for it.
    const isSent = voter.takes
    if (isSent) claim.sent.add(voter.index)
    return voter.ask('enter', [claim.key], args).then(
      (items) => {
        claim.asked.delete(voter.index)
        claim.erred.delete(voter.index)
        return items
      },
      (error: unknown) => {
        if (!isSent) throw error
        claim.erred.add(voter.index)
        // Given up meanwhile; the server may have done it all the same, and will not tell any more.
        if (claim.isOver) this.#janitor.add(voter, claim.entry, round)
        throw error
      },
    )
  }

  /** Every answer, late ones too, tells which servers vote for the place. */
  #heard(claim: Claim, round: number, voter: Voter, { at, code, rival }: Ballot): void {
    if (claim.isOver) {
      // Given up while this was under way: whatever it did must be undone now that it has ended.
      if (claim.isRefused && code === CODE.vote) this.#undo(voter, claim, round)
      return
    }
    claim.answered(voter.index, at, code === CODE.vote, rival)
    if (claim.isBusy || claim.isGranted || round !== claim.round) return
    // A late answer after the round was given up as not granted.
    this.#yieldVotes(claim)
    if (claim.votes.size >= this.#council.quorum) claim.wake?.()
  }

  #conclude(claim: Claim, tally: Tally, since: Instant, era: number): Place | null | Promise<Place | null> {
    const outcome = tally.end()
    if (era !== this.#council.era) {
      claim.isBusy = false
      throw new StoreUnreachableError('this process stood still while the servers were asked; they are asked again', {
        line: claim.entry.line,
      })
    }
    if (outcome !== 'granted' || claim.token !== null) return this.#end(claim, tally, since, outcome)
    claim.token = tally.agreed
    if (claim.token !== null) return this.#end(claim, tally, since, 'granted')
    return this.#settle(claim, Math.max(...tally.tokens)).then((written) => {
      const settled = written.end()
      // A place that was lost meanwhile is asked for again, like one of which nothing was heard.
      return this.#end(claim, written, since, settled === 'granted' || settled === 'waiting' ? settled : 'unreachable')
    })
  }

  #end(claim: Claim, tally: Tally, since: Instant, outcome: Outcome): Place | null {
    const { entry } = claim
    claim.isBusy = false
    switch (outcome) {
      case 'granted':
        claim.isGranted = true
        this.#enterAgain(claim, tally)
        return { token: BigInt(claim.token ?? 0), ahead: 0, recheckMs: null, since, wanted: tally.wanted }
      case 'waiting':
        this.#yieldVotes(claim)
        this.#enterAgain(claim, tally)
        // Votes were pushed while the answers that say "you wait" were still being read: asked again at once.
        if (claim.votes.size >= this.#council.quorum) claim.wake?.()
        return this.#waitingPlace(claim, tally, since)
      case 'unreachable':
        this.#yieldVotes(claim)
        throw this.#council.unreachable(tally.heard, tally.errors, entry.line)
      case 'refused':
        this.#giveBack(claim, tally)
        return null
      case 'gone':
        this.#giveUp(claim)
        return null
      case 'mismatch':
        this.#giveUp(claim)
        throw new CapacityMismatchError(
          `line ${JSON.stringify(entry.line)} has capacity ${tally.capacity} while it is in use, asked for ${entry.capacity}`,
          { line: entry.line },
        )
      default:
        return outcome satisfies never
    }
  }

  /**
   * Agrees on the token of a new holder. If a quorum answered the same one, that was it, and each of them remembers it beside
   * our vote. Else the largest is written back, and a server counts only if our vote still lives there, as its script says in
   * the same step: any later holder needs one of those servers, gets its vote after ours has ended there, and so a larger token.
   */
  async #settle(claim: Claim, largest: number): Promise<Tally> {
    const { voters, quorum, runtime } = this.#council
    const round = this.#next(claim)
    const args = [this.#retentionMs, 1, claim.entry.id, largest, 2, round]
    const written = new Tally(voters.length, quorum, false)
    await poll({
      voters,
      runtime,
      limitMs: Math.min(this.#limitMs, claim.entry.ttlMs / 3),
      send: (voter) => voter.ask('touch', [claim.key], args),
      hear: (voter, items) => {
        const ballot = ballotIn(items, 0)
        written.hear(voter.index, ballot)
        this.#heard(claim, round, voter, ballot)
      },
      miss: (_, error) => written.miss(error),
      isDecided: () => written.outcome !== null,
      isMostlyHeard: () => written.isMostlyHeard,
    })
    if (written.end() === 'granted') claim.token = largest
    return written
  }

  /** Without a majority, a vote that an earlier one waits for is given back: so the first in line collects them all. */
  #yieldVotes(claim: Claim): void {
    if (claim.isGranted || claim.isForeign || claim.isOver || claim.isBusy) return
    if (claim.rivals.size === 0) return
    for (const voter of this.#council.voters) {
      if (!claim.rivals.delete(voter.index) || !claim.votes.delete(voter.index)) continue
      const args = [this.#retentionMs, claim.entry.id, claim.round]
      voter.ask('yield', [claim.key], args).catch((error: unknown) => diagnostics.failed(claim.entry.line, error))
    }
  }

  /** A server that lost the place, or came late, gets it again while a majority stands: the next failure then does less harm. */
  #enterAgain(claim: Claim, tally: Tally): void {
    const proposed = claim.token ?? claim.priority
    for (const index of tally.gone) {
      const voter = this.#council.voters[index]
      // One that erred may still get the old request: to enter twice is to enter once.
      if (voter === undefined || (claim.asked.has(index) && !claim.erred.has(index))) continue
      const { round } = claim
      this.#enterAt(voter, claim, proposed, round, true).then(
        (items) => this.#heard(claim, round, voter, ballotIn(items, 0)),
        (error: unknown) => diagnostics.failed(claim.entry.line, error),
      )
    }
  }

  /** Nothing of it may vote against anybody, least of all against our own next round. */
  #giveUp(claim: Claim): void {
    this.leave(claim.entry, claim, 0).catch((error: unknown) => diagnostics.failed(claim.entry.line, error))
  }

  /** A try that failed has places only where it got a vote, or will get one late. */
  #giveBack(claim: Claim, { votes }: Tally): void {
    claim.isOver = true
    claim.isRefused = true
    const { round } = claim
    for (const voter of this.#council.voters) {
      if (votes.has(voter.index)) this.#undo(voter, claim, round)
      // One that erred may have voted all the same; a late answer is dealt with when it comes.
      else if (claim.erred.has(voter.index)) this.#janitor.add(voter, claim.entry, round)
    }
  }

  #undo(voter: Voter, { entry }: Claim, round: number): void {
    this.leaveAt(voter, entry, { isDoubted: false, afterMs: 0, round }).catch((error: unknown) => {
      diagnostics.failed(entry.line, error)
      this.#janitor.add(voter, entry, round)
    })
  }

  #next(claim: Claim): number {
    claim.begin(++this.#council.round)
    return claim.round
  }

  #waitingPlace(claim: Claim, tally: Tally, since: Instant): Place {
    const { random } = this.#council.runtime
    const baseMs = claim.votes.size > 0 ? SPLIT_MS : NET_MS
    const recheckMs = Math.min(tally.earliestMs, baseMs * (1 + random()))
    const { capacity } = claim.entry
    return { token: BigInt(claim.priority), ahead: capacity, recheckMs, since, wanted: tally.wanted }
  }
}
