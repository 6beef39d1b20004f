/** Redlock over independent Redis servers: a hold is a majority of votes, each server votes for one, and tokens rise. */
import { UnsupportedError, UsageError } from '../../core/errors.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { CellView, Change, Driver, Entry, LineView, Place, Stop, Traits, Wake } from '../../driver.ts'
import { Keys } from '../redis/keys.ts'
import { Cells } from './cells.ts'
import { Claim } from './claim.ts'
import { Council } from './council.ts'
import { Hub } from './hub.ts'
import { Janitor } from './janitor.ts'
import { listLines } from './listing.ts'
import type { Settings } from './options.ts'
import { poll } from './poll.ts'
import { Rounds } from './rounds.ts'
import type { Voter } from './voter.ts'
import type { Wire } from './wire.ts'

const TRAITS: Traits = Object.freeze({
  fair: false,
  fenced: true,
  counting: false,
  push: 'hint',
  ttlMsMin: 100,
  lingers: true,
  scope: 'network',
  safety:
    'a hold is a majority of the votes of independent servers. Exclusion rests on clocks that run alike and on servers that keep quiet after they forgot; tokens rise as long as no majority forgets at once. Permits of two can not be counted over majorities: three clients can each hold two of three servers, pairwise, and no server gives more than two votes. There is no order that all servers share, so strict fairness can not be kept either.',
})

/** Readers and writers of a read-write lock. */
const ALL = 1_000_000
/** Claims that nobody left or renewed for a while are forgotten, looked for every so many new ones. */
const SWEEP_EVERY = 1_000

export class RedlockDriver implements Driver {
  readonly name = 'redlock'
  readonly traits: Traits = TRAITS
  readonly #council: Council
  readonly #keys: Keys
  readonly #claims = new Map<string, Claim>()
  readonly #wakes = new Map<string, Wake>()
  readonly #janitor: Janitor
  readonly #rounds: Rounds
  readonly #hub: Hub
  readonly #cells: Cells
  readonly #settings: Settings
  #opening: Promise<void> | null = null
  #isOpen = false
  #closing: Promise<void> | null = null
  #entered = 0

  constructor(wires: readonly Wire[], settings: Settings, runtime: Runtime) {
    const marker = `${settings.prefix}:redlock`
    const id = runtime.randomId().slice(0, 16)
    this.#settings = settings
    this.#council = new Council(wires, marker, settings, runtime)
    this.#keys = new Keys(settings.prefix)
    this.#janitor = new Janitor(runtime, (voter, line, debts, before) =>
      this.#rounds.disown(voter, line, debts, Math.min(this.#endedRound(voter), before - 1)),
    )
    this.#rounds = new Rounds(this.#council, this.#keys, this.#janitor, settings, id)
    this.#cells = new Cells(this.#council, this.#keys, settings.nodeTimeoutMs)
    this.#hub = new Hub(
      this.#council,
      this.#keys,
      { id, marker, retentionMs: settings.retentionMs },
      this.#claims,
      (claim) => this.#rounds.inquired(claim),
    )
    this.#council.listener = {
      joined: (voter: Voter) => {
        this.#hub.listen(voter)
        this.#janitor.retry(voter)
      },
      gap: () => this.#hub.gap(),
      // Every hold is asked for at once: what a majority has dropped meanwhile is then known to be lost.
      slept: () => {
        for (const claim of this.#claims.values()) claim.wake?.()
      },
    }
  }

  /** Connects to all servers and looks at them: rejects unless a quorum can be asked. Without it the first use connects. */
  async open(): Promise<void> {
    await this.#connect()
    this.#council.check()
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    checkLine(entry)
    if (!this.#isOpen) await this.#connect()
    const longestMs = this.#council.longestMs()
    if (longestMs > 0 && entry.ttlMs > longestMs) {
      throw new UsageError(
        `ttlMs must be at most ${longestMs} on this deployment (its maxTtlMs), given ${entry.ttlMs}: a server that restarts keeps quiet for so long and no longer`,
        { line: entry.line },
      )
    }
    let claim = this.#claims.get(entry.id)
    if (claim === undefined || claim.isOver) {
      claim = new Claim(entry, this.#keys.line(entry.line)[0], this.#council.propose())
      claim.wake = this.#wakes.get(entry.id) ?? null
      this.#claims.set(entry.id, claim)
      if (++this.#entered % SWEEP_EVERY === 0) this.#sweep()
    }
    return this.#forgetting(await this.#rounds.enter(claim, wait), claim)
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    if (!this.#isOpen) await this.#connect()
    const claims = entries.map((entry) => {
      const known = this.#claims.get(entry.id)
      if (known !== undefined) return known
      // Entered by another client of the same process, or long ago: the servers know.
      const claim = new Claim(entry, this.#keys.line(entry.line)[0], this.#council.propose(), true)
      claim.wake = this.#wakes.get(entry.id) ?? null
      this.#claims.set(entry.id, claim)
      return claim
    })
    const places = await this.#rounds.touch(claims)
    return places.map((place, i) => this.#forgetting(place, claims[i] as Claim))
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    if (!this.#isOpen) await this.#connect()
    const claim = this.#claims.get(entry.id)
    this.#claims.delete(entry.id)
    await this.#rounds.leave(entry, claim, afterMs)
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id === null) return this.#connect().then(() => this.#hub.observe(line, wake))
    this.#wakes.set(id, wake)
    const stop = (): void => {
      this.#wakes.delete(id)
      const claim = this.#claims.get(id)
      if (claim !== undefined) claim.wake = null
    }
    const claim = this.#claims.get(id)
    if (claim !== undefined) claim.wake = wake
    return stop
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    await this.#connect()
    yield* await listLines(this.#council, this.#keys, prefix)
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    await this.#connect()
    return this.#cells.swap(key, change)
  }

  async break(line: string, now: boolean): Promise<number> {
    await this.#connect()
    const { voters, quorum, runtime } = this.#council
    const counts = new Map<string, number>()
    const errors: Error[] = []
    let heard = 0
    await poll({
      voters,
      runtime,
      limitMs: this.#settings.nodeTimeoutMs,
      send: (voter) => voter.ask('break', [this.#keys.line(line)[0]], [this.#settings.retentionMs, now ? 1 : 0]),
      hear: (_, ids) => {
        heard++
        for (const id of ids.slice(2) as string[]) counts.set(id, (counts.get(id) ?? 0) + 1)
      },
      miss: (_, error) => void errors.push(error),
      // All of them, as far as they answer: a hold is broken only where its votes are.
      isDecided: () => false,
      isMostlyHeard: () => heard >= quorum,
    })
    if (heard < quorum) throw this.#council.unreachable(heard, errors, line)
    return [...counts.values()].filter((count) => count >= quorum).length
  }

  close(): Promise<void> {
    if (this.#closing === null) {
      this.#hub.close()
      this.#janitor.close()
      this.#closing = this.#council.close()
    }
    return this.#closing
  }

  #connect(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<void> {
    await this.#council.open()
    this.#isOpen = true
  }

  #forgetting(place: Place | null, claim: Claim): Place | null {
    if (place === null && this.#claims.get(claim.entry.id) === claim) this.#claims.delete(claim.entry.id)
    return place
  }

  /** No request to enter of this round, or of one before it, is under way to that server and waited for. */
  #endedRound({ index }: Voter): number {
    let { round } = this.#council
    for (const { isBusy, asked, erred, round: its } of this.#claims.values()) {
      if (isBusy || (asked.has(index) && !erred.has(index))) round = Math.min(round, its - 1)
    }
    return round
  }

  #sweep(): void {
    for (const [id, claim] of this.#claims) {
      if (claim.wake === null && !this.#wakes.has(id) && !claim.isBusy) this.#claims.delete(id)
    }
  }
}

/** What can be counted over majorities: one holder, or readers and one writer. */
function checkLine({ line, capacity, weight }: Entry): void {
  if (capacity === 1 || (capacity === ALL && (weight === 1 || weight === ALL))) return
  throw new UnsupportedError(`a capacity of ${capacity} can't be kept on redlock: ${TRAITS.safety}`, { line })
}
