/** All servers of a deployment together: who has joined, what time it is for them, and whether a question got a majority. */
import { StoreError, StoreUnreachableError } from '../../core/errors.ts'
import { diagnostics } from '../../core/diagnostics.ts'
import type { Runtime } from '../../core/runtime.ts'
import { BLAME_MS, JUMP_MS } from './clock.ts'
import { MAX_TTL_MS, type Settings } from './options.ts'
import { tellReasons } from './silence.ts'
import { Voter, type VoterOwner } from './voter.ts'
import type { Wire } from './wire.ts'

/** Clocks of servers further apart than this make their votes doubtful: one of them has jumped before we came. */
const FAR_MS = 1_000

/** Clocks drift by less than a microsecond in so long. */
const OFFSET_MS = 5

/** A quorum has joined: how long the first use waits for the others. */
const JOIN_GRACE_MS = 100

/** Who is told what concerns all places. */
export interface CouncilListener {
  /** A server can be asked (again). */
  joined(voter: Voter): void
  /** Messages of a server may have been missed. */
  gap(voter: Voter): void
  /** This process stood still, or its machine slept: what was believed must be asked for. */
  slept(): void
}

export class Council implements VoterOwner {
  readonly voters: readonly Voter[]
  readonly quorum: number
  readonly runtime: Runtime
  /** Rises when this process's own clock turned out to have stood still: answers to older questions prove nothing. */
  era: number = 0
  /** Counts the questions asked, of all places together: a server ignores what is older than what it knows. */
  round: number = 0
  listener: CouncilListener | null = null
  /** Set before a first start: servers are looked at, and none is joined. */
  isLooking: boolean = false
  readonly #settings: Settings
  #longestMs: number
  #proposed = 0
  /** The median of the servers' clocks, minus ours, and until when it is good enough. */
  #offsetMs = 0
  #offsetUntil = Number.NEGATIVE_INFINITY
  readonly #waiting = new Set<() => void>()

  constructor(wires: readonly Wire[], marker: string, settings: Settings, runtime: Runtime) {
    this.#settings = settings
    this.quorum = settings.quorum
    this.runtime = runtime
    this.#longestMs = settings.maxTtlMs
    this.voters = wires.map((wire, i) => new Voter(i, wire, marker, this, runtime))
  }

  /** Connects to all, and settles when all have joined or failed, or a little after a quorum has, or when it is too late. */
  async open(): Promise<void> {
    for (const voter of this.voters) voter.open()
    await new Promise<void>((resolve) => {
      let cancelGrace: (() => void) | null = null
      const end = (): void => {
        cancel()
        cancelGrace?.()
        this.#waiting.delete(check)
        resolve()
      }
      const check = (): void => {
        const onTheWay = this.#count('new') + this.#count('joining') + (this.isLooking ? 0 : this.#count('unmarked'))
        if (onTheWay === 0) end()
        else if (!this.isLooking && this.#ready >= this.quorum) {
          cancelGrace ??= this.runtime.after(JOIN_GRACE_MS, end, true)
        }
      }
      const cancel = this.runtime.after(this.#settings.connectTimeoutMs, end, true)
      this.#waiting.add(check)
    })
  }

  /** Rejects unless a quorum can be asked. */
  check(): void {
    if (this.#ready >= this.quorum) return
    throw this.unreachable(
      this.#ready,
      this.voters.map(({ trouble }) => trouble),
    )
  }

  /** What to say when too few answered, or too few may vote; those of which nothing was heard gave no answer in time. */
  unreachable(heard: number, errors: readonly (Error | null | undefined)[], line?: string): StoreError {
    const told = errors.filter((error) => error !== null && error !== undefined)
    const lasting = told.find((error) => error instanceof StoreError && !(error instanceof StoreUnreachableError))
    if (lasting instanceof StoreError) return lasting
    const silent = this.voters.length - heard - told.length
    const reasons = tellReasons(told)
    if (silent > 0) reasons.push(`${silent} gave none in time`)
    return new StoreUnreachableError(
      `${this.quorum} of ${this.voters.length} servers are needed, and ${this.voters.length - heard} did not give an answer that counts: ${reasons.join('; ')}`,
      { ...(line === undefined ? {} : { line }), cause: told[0] },
    )
  }

  longestMs(): number {
    return this.isLooking ? 0 : this.#longestMs
  }

  /**
   * The token, or priority, to propose: the time in microseconds as most servers have it, and more than the last one. One
   * server's wrong clock does not count; only the median is taken.
   */
  propose(): number {
    const now = this.runtime.now()
    if (now >= this.#offsetUntil) {
      const offsets = this.voters.filter(({ clock }) => clock.isKnown).map(({ clock }) => clock.offsetMs)
      this.#offsetMs = offsets.toSorted((a, b) => a - b)[Math.floor((offsets.length - 1) / 2)] ?? 0
      this.#offsetUntil = now + (offsets.length === this.voters.length ? OFFSET_MS : 0)
    }
    this.#proposed = Math.max(this.#proposed + 1, Math.floor((now + this.#offsetMs) * 1_000))
    return this.#proposed
  }

  async close(): Promise<void> {
    await Promise.all(this.voters.map((voter) => voter.close()))
  }

  joined(voter: Voter): Error | null {
    const { longestMs } = voter
    if (this.#longestMs === 0) {
      this.#longestMs = longestMs
      for (const other of this.voters) if (other.phase !== 'ready') other.join()
    } else if (this.#longestMs !== longestMs) {
      return new StoreError(
        `Redis at ${voter.wire.where} belongs to a deployment whose longest lease (maxTtlMs) is ${longestMs} ms, not ${this.#longestMs} ms: all clients and servers must agree on one`,
      )
    }
    const twin = this.voters.find((other) => other !== voter && other.run === voter.run && other.phase === 'ready')
    if (twin !== undefined) {
      return new StoreError(
        `Redis at ${voter.wire.where} and at ${twin.wire.where} are the same server: it would vote twice`,
      )
    }
    voter.jumpMs = 0
    queueMicrotask(() => {
      this.#wakeWaiting()
      this.listener?.joined(voter)
    })
    return null
  }

  /** Nobody knows the longest lease yet: another server may. Only when all have said that they do not, the default is taken. */
  unmarked(voter: Voter): void {
    if (this.isLooking) {
      this.#wakeWaiting()
      return
    }
    if (this.#longestMs !== 0) {
      voter.join()
      return
    }
    // A majority lost its data, and the server that still knows is away for a moment: with the default written to the others, it would
    // never be one of them again. So all must have answered, and none have known.
    if (this.#count('unmarked') < this.voters.length) return
    this.#longestMs = MAX_TTL_MS
    for (const other of this.voters) other.join()
  }

  parted(voter: Voter): void {
    voter.clock.reset()
    this.#wakeWaiting()
  }

  gap(voter: Voter): void {
    this.listener?.gap(voter)
  }

  /**
   * One of two clocks has jumped. Whose, the others tell: if a majority jumped alike it was ours, and nobody is to blame;
   * if a majority did not, it was the server's, and its votes end early or last too long, so it is silenced for everybody.
   */
  jumped(voter: Voter, byMs: number): void {
    if (voter.jumpMs === 0) voter.jumpAt = this.runtime.now()
    voter.jumpMs = byMs
    const alike = this.voters.filter(({ jumpMs }) => jumpMs !== 0 && Math.abs(jumpMs - byMs) <= JUMP_MS)
    if (alike.length >= this.quorum) {
      this.era++
      this.#offsetUntil = Number.NEGATIVE_INFINITY
      for (const one of this.voters) {
        one.jumpMs = 0
        one.clock.reset()
      }
      queueMicrotask(() => this.listener?.slept())
      return
    }
    // Only who was known before the jump and is still can tell. (The machine sleeps; two servers hang up and are met anew: they
    // seem to fit, and the third would take the blame.)
    const witnesses = this.voters.filter(({ clock }) => clock.knownSince <= voter.fitAt)
    if (witnesses.length < this.quorum || Math.abs(byMs) < BLAME_MS) {
      voter.jumpMs = 0
      voter.clock.reset()
      return
    }
    // Asked after the jump was first seen: a machine that slept would have found those clocks changed as well.
    const since = Math.min(...this.voters.filter(({ jumpMs }) => jumpMs !== 0).map(({ jumpAt }) => jumpAt))
    const steady = witnesses.filter(({ jumpMs, fitAt }) => jumpMs === 0 && fitAt >= since)
    if (steady.length < this.quorum) return
    for (const one of this.voters) {
      if (one.jumpMs === 0) continue
      one.jumpMs = 0
      one.clock.reset()
      one.isFar = true
      // Should that fail, whoever sees the jump next tries again; until its clock is known anew its votes do not count for us.
      one.quarantine().catch((error: unknown) => diagnostics.failed('', error))
    }
  }

  /** Who is far from most? Asked whenever a clock becomes known. */
  measured(): void {
    const known = this.voters.filter(({ clock }) => clock.isKnown)
    for (const voter of known) {
      const near = known.filter(({ clock }) => Math.abs(clock.offsetMs - voter.clock.offsetMs) <= FAR_MS)
      voter.isFar = known.length >= this.quorum && near.length < this.quorum
    }
  }

  get #ready(): number {
    return this.#count('ready')
  }

  #count(phase: Voter['phase']): number {
    return this.voters.filter((voter) => voter.phase === phase).length
  }

  #wakeWaiting(): void {
    for (const check of [...this.#waiting]) check()
  }
}
