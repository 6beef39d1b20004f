/**
 * Redlock over independent Redis servers: a hold is a majority of votes, each server votes for one, and tokens rise.
 */
import { UnsupportedError, UsageError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { CellView, Change, Driver, Entry, LineView, Place, Stop, Traits, Wake } from '../../contract/driver.ts'
import { Keys } from '../redis/keys.ts'
import { Cells } from './cells.ts'
import { OwnPlace } from './places.ts'
import { Servers } from './servers.ts'
import { Wakeups } from './wakeups.ts'
import { Tombstones } from './tombstones.ts'
import { listLines } from './listing.ts'
import type { Settings } from './options.ts'
import { poll } from './poll.ts'
import { Reconfiguration } from './reconfiguration.ts'
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
    'a hold is a majority of the votes of independent servers. Exclusion rests on clocks that run alike and on ' +
    'servers that keep quiet after they forgot; tokens rise as long as no majority forgets at once. Permits ' +
    'of two can not be counted over majorities: three clients can each hold two of three servers, ' +
    'pairwise, and no server gives more than two votes. There is no order that all servers share, ' +
    'so strict fairness can not be kept either.',
})

/** Readers and writers of a read-write lock. */
const ALL = 1_000_000
/** Places of ours that nobody left or renewed for a while are forgotten, looked for every so many new ones. */
const SWEEP_EVERY = 1_000

/** The store on a majority of independent Redis servers. */
export class RedlockDriver implements Driver {
  readonly name = 'redlock'
  readonly traits: Traits = TRAITS
  readonly #servers: Servers
  readonly #keys: Keys
  readonly #ownPlaces = new Map<string, OwnPlace>()
  readonly #wakes = new Map<string, Wake>()
  readonly #tombstones: Tombstones
  readonly #rounds: Rounds
  readonly #wakeups: Wakeups
  readonly #cells: Cells
  readonly #settings: Settings
  #opening: Promise<void> | null = null
  #isOpen = false
  #closing: Promise<void> | null = null
  #entered = 0

  /** @internal */
  constructor(wires: readonly Wire[], settings: Settings, runtime: Runtime) {
    const marker = `${settings.prefix}:redlock`
    const id = runtime.randomId().slice(0, 16)
    this.#settings = settings
    this.#servers = new Servers(wires, marker, settings, runtime)
    this.#servers.reconfiguration = new Reconfiguration(this.#servers, settings, false)
    this.#keys = new Keys(settings.prefix)
    this.#tombstones = new Tombstones(runtime, (voter, line, tombstones, before) =>
      this.#rounds.bury(voter, line, tombstones, Math.min(this.#endedRound(voter), before - 1)),
    )
    this.#rounds = new Rounds(this.#servers, this.#keys, this.#tombstones, settings, id)
    this.#cells = new Cells(this.#servers, this.#keys, settings.nodeTimeoutMs)
    this.#wakeups = new Wakeups(
      this.#servers,
      this.#keys,
      { id, marker, retentionMs: settings.retentionMs },
      this.#ownPlaces,
      (own) => this.#rounds.inquired(own),
    )
    this.#servers.listener = {
      joined: (voter: Voter) => {
        this.#wakeups.listen(voter)
        this.#tombstones.retry(voter)
      },
      gap: () => this.#wakeups.gap(),
      // Every hold is asked for at once: what a majority has dropped meanwhile is then known to be lost.
      slept: () => {
        for (const own of this.#ownPlaces.values()) own.wake?.()
      },
    }
  }

  /**
   * Connects to all servers and looks at them: rejects unless a quorum can be asked. Without it the first use connects.
   */
  async open(): Promise<void> {
    await this.#connect()
    this.#servers.check()
  }

  async enter(entry: Entry, wait: boolean): Promise<Place | null> {
    checkLine(entry)
    if (!this.#isOpen) await this.#connect()
    const longestMs = this.#servers.longestMs()
    if (longestMs > 0 && entry.ttlMs > longestMs) {
      throw new UsageError(
        `ttlMs must be at most ${longestMs} on this deployment (its maxTtlMs), given ${entry.ttlMs}: a server ` +
          `that restarts keeps quiet for so long and no longer`,
        { line: entry.line },
      )
    }
    let own = this.#ownPlaces.get(entry.id)
    if (own === undefined || own.isOver) {
      own = new OwnPlace(entry, this.#keys.line(entry.line)[0], this.#servers.propose())
      own.wake = this.#wakes.get(entry.id) ?? null
      this.#ownPlaces.set(entry.id, own)
      if (++this.#entered % SWEEP_EVERY === 0) this.#sweep()
    }
    return this.#forgetting(await this.#rounds.enter(own, wait), own)
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    if (!this.#isOpen) await this.#connect()
    const ownPlaces = entries.map((entry) => {
      const known = this.#ownPlaces.get(entry.id)
      if (known !== undefined) return known
      // Entered by another client of the same process, or long ago: the servers know.
      const own = new OwnPlace(entry, this.#keys.line(entry.line)[0], this.#servers.propose(), true)
      own.wake = this.#wakes.get(entry.id) ?? null
      this.#ownPlaces.set(entry.id, own)
      return own
    })
    const places = await this.#rounds.touch(ownPlaces)
    return places.map((place, i) => this.#forgetting(place, ownPlaces[i] as OwnPlace))
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    if (!this.#isOpen) await this.#connect()
    const own = this.#ownPlaces.get(entry.id)
    this.#ownPlaces.delete(entry.id)
    await this.#rounds.leave(entry, own, afterMs)
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    if (id === null) return this.#connect().then(() => this.#wakeups.observe(line, wake))
    this.#wakes.set(id, wake)
    const stop = (): void => {
      this.#wakes.delete(id)
      const own = this.#ownPlaces.get(id)
      if (own !== undefined) own.wake = null
    }
    const own = this.#ownPlaces.get(id)
    if (own !== undefined) own.wake = wake
    return stop
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    await this.#connect()
    yield* await listLines(this.#servers, this.#keys, prefix)
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    await this.#connect()
    return this.#cells.swap(key, change)
  }

  async break(line: string, now: boolean): Promise<number> {
    await this.#connect()
    const { members: voters, quorum, runtime } = this.#servers
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
      // All of them, as far as they answer in their time: a hold is broken only where its votes are. Two of five answer
      // late; of the three that were heard two vote for the holder: it would be told as nobody, and go on.
      isDecided: () => false,
      isMostlyHeard: () => false,
    })
    if (heard < quorum) throw this.#servers.unreachable(heard, errors, line)
    return [...counts.values()].filter((count) => count >= quorum).length
  }

  close(): Promise<void> {
    if (this.#closing === null) {
      this.#wakeups.close()
      this.#tombstones.close()
      this.#closing = this.#servers.close()
    }
    return this.#closing
  }

  #connect(): Promise<void> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async #open(): Promise<void> {
    await this.#servers.open()
    this.#isOpen = true
  }

  #forgetting(place: Place | null, own: OwnPlace): Place | null {
    if (place === null && this.#ownPlaces.get(own.entry.id) === own) this.#ownPlaces.delete(own.entry.id)
    return place
  }

  /** No request to enter of this round, or of one before it, is under way to that server and waited for. */
  #endedRound({ index }: Voter): number {
    let { round } = this.#servers
    for (const { isBusy, asked, erred, round: its } of this.#ownPlaces.values()) {
      if (isBusy || (asked.has(index) && !erred.has(index))) round = Math.min(round, its - 1)
    }
    return round
  }

  #sweep(): void {
    for (const [id, own] of this.#ownPlaces) {
      if (own.wake === null && !this.#wakes.has(id) && !own.isBusy) this.#ownPlaces.delete(id)
    }
  }
}

/** What can be counted over majorities: one holder, or readers and one writer. */
function checkLine({ line, capacity, weight }: Entry): void {
  if (capacity === 1 || (capacity === ALL && (weight === 1 || weight === ALL))) return
  throw new UnsupportedError(`a capacity of ${capacity} can't be kept on redlock: ${TRAITS.safety}`, { line })
}
