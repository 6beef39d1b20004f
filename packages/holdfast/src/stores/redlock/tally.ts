/** Counts the answers of one round for one place, and says as early as possible what they amount to. */
import type { Items } from './voter.ts'
import { ServerSet } from './places.ts'

/** What one server said about one place (see lua/enter.lua). */
export interface Ballot {
  /** The server's time, µs. */
  readonly at: number
  readonly code: number
  readonly token: number
  readonly wanted: boolean
  /** Somebody who came earlier waits for this vote. */
  readonly rival: boolean
  /** Until the earliest vote of others lapses, or -1. */
  readonly earliestMs: number
}

/** Items of one place in an answer, behind the time and the silence. */
const HEAD = 2
const WIDTH = 5

/** Reads what an answer says of the nth place asked about. */
export function ballotIn(items: Items, nth: number): Ballot {
  const from = HEAD + nth * WIDTH
  return {
    at: items[0] as number,
    code: items[from] as number,
    token: items[from + 1] as number,
    wanted: items[from + 2] === 1,
    rival: items[from + 3] === 1,
    earliestMs: items[from + 4] as number,
  }
}

export const CODE = { vote: 1, waits: 0, gone: -1, mismatch: -2, refused: -3 } as const

export type Outcome = 'granted' | 'waiting' | 'gone' | 'refused' | 'mismatch' | 'unreachable'

export class Tally {
  readonly votes: ServerSet = new ServerSet()
  /** Those that came with the votes. */
  readonly tokens: number[] = []
  readonly gone: number[] = []
  readonly errors: Error[] = []
  /** Of the line, where another one was asked for. */
  capacity: number = 0
  wanted: boolean = false
  earliestMs: number = Number.POSITIVE_INFINITY
  outcome: Outcome | null = null
  #waits = 0
  #mismatches = 0
  #refusals = 0
  #pending: number
  readonly #total: number
  readonly #asked: number
  readonly #quorum: number
  /** A holder that has become a waiter somewhere has lost that vote. */
  readonly #isHeld: boolean

  /** @param asked how many were asked, where more than `total` may answer. */
  constructor(total: number, quorum: number, isHeld: boolean, asked: number = total) {
    this.#total = total
    this.#asked = asked
    this.#pending = asked
    this.#quorum = quorum
    this.#isHeld = isHeld
  }

  /** The token that a quorum answered, all the same; null: there is none. */
  get agreed(): number | null {
    for (const token of this.tokens) {
      let same = 0
      for (const other of this.tokens) if (other === token) same++
      if (same >= this.#quorum) return token
    }
    return null
  }

  /** A quorum has answered: what is still missing may be dead, and is not waited for very long. */
  get isMostlyHeard(): boolean {
    return this.heard >= this.#quorum
  }

  /** How many have answered. */
  get heard(): number {
    return this.#asked - this.#pending - this.errors.length
  }

  hear(voter: number, { code, token, wanted, earliestMs }: Ballot): void {
    this.#pending--
    if (wanted) this.wanted = true
    if (code === CODE.waits && earliestMs >= 0) this.earliestMs = Math.min(this.earliestMs, earliestMs)
    if (code === CODE.vote) this.#vote(voter, token)
    else if (code === CODE.waits) this.#waits++
    else if (code === CODE.gone) this.gone.push(voter)
    else if (code === CODE.refused) this.#refusals++
    else {
      this.#mismatches++
      this.capacity = token
    }
    this.outcome ??= this.#judge(this.#pending)
  }

  #vote(voter: number, token: number): void {
    this.votes.add(voter)
    this.tokens.push(token)
  }

  miss(error: Error): void {
    this.#pending--
    this.errors.push(error)
    this.outcome ??= this.#judge(this.#pending)
  }

  /** Judges by what is there: nothing more is waited for. */
  end(): Outcome {
    this.outcome ??= this.#judge(0) ?? 'unreachable'
    return this.outcome
  }

  #judge(pending: number): Outcome | null {
    const votes = this.votes.size
    if (votes >= this.#quorum) return 'granted'
    if (votes + pending >= this.#quorum) return null
    const bearable = this.#total - this.#quorum
    if (this.#mismatches > bearable) return 'mismatch'
    if (this.#isHeld) {
      // Half of four votes: nobody else can have three. Five became four, and A held by two of them and the one that
      // went; B stands first on the other two. To call A's lock lost would give it to B long before A's lease ends.
      if (votes + pending > bearable) return pending === 0 ? 'unreachable' : null
      return this.gone.length + this.#waits > bearable ? 'gone' : pending === 0 ? 'unreachable' : null
    }
    if (this.#refusals > 0) return this.isMostlyHeard ? 'refused' : pending === 0 ? 'unreachable' : null
    const standing = votes + this.#waits
    if (standing >= this.#quorum) return 'waiting'
    if (standing + pending >= this.#quorum) return null
    if (this.gone.length > bearable) return 'gone'
    if (this.#mismatches > 0 && this.#mismatches + this.gone.length > bearable) return 'mismatch'
    return pending === 0 ? 'unreachable' : null
  }
}
