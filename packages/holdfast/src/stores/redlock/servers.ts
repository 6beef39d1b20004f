/**
 * All servers that a client was given: which of them vote together, what time it is for them, and whether a question
 * got a majority.
 */
import { diagnostics } from '../../contract/events.ts'
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { BLAME_MS, JUMP_MS } from './clock.ts'
import { type Deployment, isSame, listed, majorityOf } from './deployment.ts'
import type { Settings } from './options.ts'
import type { Reconfiguration } from './reconfiguration.ts'
import { Membership } from './membership.ts'
import { ChangedError, tellReasons } from './errors.ts'
import { Voter, type VoterOwner } from './voter.ts'
import type { Wire } from './wire.ts'

/** Clocks of servers further apart than this make their votes doubtful: one of them has jumped before we came. */
const FAR_MS = 1_000

/** Clocks drift by less than a microsecond in so long. */
const OFFSET_MS = 5

/** A quorum has joined: how long the first use waits for the others. */
const JOIN_GRACE_MS = 100

/** Who is told what concerns all places. */
export interface ServersEvents {
  /** A server can be asked (again). */
  joined(voter: Voter): void
  /** Messages of a server may have been missed. */
  gap(voter: Voter): void
  /** This process stood still, or its machine slept: what was believed must be asked for. */
  slept(): void
}

export class Servers implements VoterOwner {
  readonly voters: readonly Voter[]
  readonly runtime: Runtime
  /** Rises when this process's own clock turned out to have stood still: answers to older questions prove nothing. */
  era: number = 0
  /** Counts the questions asked, of all places together: a server ignores what is older than what it knows. */
  round: number = 0
  listener: ServersEvents | null = null
  reconfiguration: Reconfiguration | null = null
  readonly #settings: Settings
  readonly #membership: Membership
  #proposed = 0
  /** The median of the servers' clocks, minus ours, and until when it is good enough. */
  #offsetMs = 0
  #offsetUntil = Number.NEGATIVE_INFINITY
  readonly #waiting = new Set<() => void>()

  constructor(wires: readonly Wire[], marker: string, settings: Settings, runtime: Runtime) {
    this.#settings = settings
    this.runtime = runtime
    this.voters = wires.map((wire, i) => new Voter(i, wire, marker, this, runtime))
    this.#membership = new Membership(this.voters, settings.maxTtlMs)
  }

  /** The servers that vote together, as far as is known; null: not yet. */
  get deployment(): Deployment | null {
    return this.#membership.deployment
  }

  /**
   * By which a question is asked and its answers are counted. Throws as long as that is not known, or enough of its
   * servers are not.
   */
  get counted(): Deployment {
    const { deployment } = this.#membership
    if (deployment === null || this.members.length < this.quorum) {
      throw this.unreachable(
        0,
        this.voters.map(({ trouble }) => trouble),
      )
    }
    return deployment
  }

  /** Of those that this client was given, all that may be among the servers of the deployment. */
  get members(): readonly Voter[] {
    return this.#membership.members
  }

  /** Of how many of them answers can be had. */
  get total(): number {
    return this.#membership.total
  }

  /** Which server of the deployment a voter is, or was before it lost its data; null: none, or not known. */
  serverOf(voter: Voter): string | null {
    return this.#membership.serverOf(voter)
  }

  /** How many votes make a majority of the deployment, however many of its servers this client was given. */
  get quorum(): number {
    const { deployment } = this.#membership
    return Math.max(this.#settings.quorum, majorityOf(deployment?.servers.length ?? this.voters.length))
  }

  /**
   * Connects to all, and settles when all have joined or failed, or a little after a quorum has, or when it is too
   * late.
   */
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
        const onTheWay = this.#count('new') + this.#count('joining')
        if (onTheWay === 0 && this.reconfiguration?.isBusy !== true) end()
        else if (this.#ready >= this.quorum && this.deployment !== null) {
          cancelGrace ??= this.runtime.after(JOIN_GRACE_MS, end, true)
        }
      }
      const cancel = this.runtime.after(this.#settings.connectTimeoutMs, end, true)
      this.#waiting.add(check)
    })
  }

  /** Rejects unless a quorum can be asked. */
  check(): void {
    if (this.#ready >= this.quorum && this.deployment !== null) return
    throw this.unreachable(
      this.#ready,
      this.voters.map(({ trouble }) => trouble),
    )
  }

  /**
   * What to say when too few answered, or too few may vote; those of which nothing was heard gave no answer in time.
   */
  unreachable(heard: number, errors: readonly (Error | null | undefined)[], line?: string): StoreError {
    const told = errors.filter((error) => error !== null && error !== undefined)
    const lasting = this.#misfit ?? told.find((error) => error instanceof StoreError && !isPassing(error))
    if (lasting instanceof StoreError) return lasting
    const asked = this.#membership.total
    const silent = asked - heard - told.length
    // Those that could have answered, and the others that were given: that one is of another deployment is what its
    // owner must know.
    const barred = this.voters.filter((voter) => !this.members.includes(voter)).flatMap(({ trouble }) => trouble ?? [])
    const reasons = tellReasons([...told, ...barred])
    if (silent > 0) reasons.push(`${silent} gave none in time`)
    return new StoreUnreachableError(
      `${this.quorum} of ${this.deployment?.servers.length ?? asked} servers are needed, and ` +
        `${Math.max(0, asked - heard)} did not give an answer that counts: ${reasons.join('; ')}`,
      { ...(line === undefined ? {} : { line }), cause: told[0] },
    )
  }

  /** This client was given too few of the servers, and no waiting will help. */
  get #misfit(): StoreError | null {
    const { deployment, members } = this.#membership
    if (deployment === null || members.length >= this.quorum) return null
    // Some are of another deployment: after most lost their data all are founded anew, and then that passes.
    const isPassing = this.voters.some(
      (voter) => voter.phase === 'joining' || (voter.deployment !== null && voter.deployment.id !== deployment.id),
    )
    if (isPassing || this.#ready === 0) return null
    const given = this.voters.map(({ wire }) => wire.where).join(',')
    return new StoreError(
      `this client was given ${given}, and deployment ${deployment.id} has ${deployment.servers.length} ` +
        `servers: ${listed(deployment)}. ${this.quorum} of them are needed, and it knows ${members.length}: ` +
        `give every client all of them. To change which servers there are, run: holdfast redlock resize`,
    )
  }

  /** Those that answered by another deployment, or by another epoch of it, are asked who they are: until then. */
  async calm(errors: readonly Error[]): Promise<boolean> {
    if (!errors.some((error) => error instanceof ChangedError)) return false
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel()
        this.#waiting.delete(check)
        resolve()
      }
      const check = (): void => {
        if (this.#count('joining') === 0 && this.reconfiguration?.isBusy !== true) end()
      }
      const cancel = this.runtime.after(this.#settings.nodeTimeoutMs, end, true)
      this.#waiting.add(check)
      check()
    })
    return true
  }

  longestMs(): number {
    return this.deployment?.maxTtlMs ?? this.#settings.maxTtlMs
  }

  /**
   * The token, or priority, to propose: the time in microseconds as most servers have it, and more than the last one.
   * One server's wrong clock does not count; only the median is taken.
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
    this.reconfiguration?.close()
    await Promise.all(this.voters.map((voter) => voter.close()))
  }

  told(voter: Voter): void {
    const before = this.deployment
    const wereReady = new Set(this.voters.filter(({ phase }) => phase === 'ready'))
    this.#membership.call(voter)
    queueMicrotask(() => {
      for (const one of this.voters) {
        if (one.phase !== 'ready' || (wereReady.has(one) && one !== voter)) continue
        one.jumpMs = 0
        this.listener?.joined(one)
      }
      // What a server said before that may be long out of date.
      if (!isSame(before, this.deployment)) this.askAgain()
      this.reconfiguration?.review()
      this.reviewed()
    })
  }

  /** Whether this client was given all servers; says so if not. */
  get isWhole(): boolean {
    this.#membership.warn(this.runtime.now())
    return this.members.length >= (this.deployment?.servers.length ?? 0)
  }

  /** Asks those whose votes do not count who they are by now: somebody may have set them up. */
  askAgain(): void {
    for (const voter of this.voters) if (voter.phase === 'barred') voter.join()
  }

  /** Something may have changed for those who wait until all are known. */
  reviewed(): void {
    for (const check of [...this.#waiting]) check()
  }

  parted(voter: Voter): void {
    voter.clock.reset()
    this.reviewed()
  }

  gap(voter: Voter): void {
    this.listener?.gap(voter)
  }

  /**
   * One of two clocks has jumped. Whose, the others tell: if a majority jumped alike it was ours, and nobody is to
   * blame; if a majority did not, it was the server's, and its votes end early or last too long, so it is silenced for
   * everybody.
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
    // Only who was known before the jump and is still can tell. (The machine sleeps; two servers hang up and are met
    // anew: they seem to fit, and the third would take the blame.)
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
      // Should that fail, whoever sees the jump next tries again; until its clock is known anew its votes do not count
      // for us.
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
}

function isPassing(error: Error): boolean {
  return error instanceof StoreUnreachableError
}
