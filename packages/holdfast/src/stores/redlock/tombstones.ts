/**
 * Places that were given up on a server which has not confirmed it: told again until it has, or until they must have
 * lapsed. No leftovers.
 */
import { diagnostics } from '../../contract/events.ts'
import type { Entry } from '../../contract/driver.ts'
import type { Runtime } from '../../contract/runtime.ts'
import type { Voter } from './voter.ts'

/** One of those places. */
export interface Tombstone {
  readonly entry: Entry
  /** In which it was given up: a place that was entered again later is not meant. */
  readonly round: number
  readonly until: number
  /** Told, and not answered yet. */
  isTold: boolean
}

/**
 * Tells a server of them; requests to enter of the given round, or of later ones, are not among what comes too late.
 */
type Bury = (voter: Voter, line: string, tombstones: readonly Tombstone[], before: number) => Promise<unknown>

const RETRY_MS = 200
/** Places in one request: a server that stood still under load has thousands to bury. */
const BATCH = 500

export class Tombstones {
  readonly #runtime: Runtime
  readonly #bury: Bury
  /** By server, by line, by id. */
  readonly #tombstones = new Map<Voter, Map<string, Map<string, Tombstone>>>()
  readonly #retries = new Map<Voter, () => void>()
  #closed = false

  constructor(runtime: Runtime, bury: Bury) {
    this.#runtime = runtime
    this.#bury = bury
  }

  add(voter: Voter, entry: Entry, round: number): void {
    if (this.#closed) return
    let lines = this.#tombstones.get(voter)
    if (lines === undefined) this.#tombstones.set(voter, (lines = new Map()))
    let tombstones = lines.get(entry.line)
    if (tombstones === undefined) lines.set(entry.line, (tombstones = new Map()))
    tombstones.set(entry.id, { entry, round, until: this.#runtime.now() + 2 * entry.ttlMs, isTold: false })
    this.#later(voter)
  }

  /**
   * A place is entered in that line in that round: it must not meet our own vote for an older one, and is itself buried
   * no more.
   */
  clear(voter: Voter, line: string, id: string, round: number): void {
    const tombstones = this.#tombstones.size === 0 ? undefined : this.#tombstones.get(voter)?.get(line)
    if (tombstones === undefined) return
    tombstones.delete(id)
    if (voter.phase === 'ready') this.#settle(voter, line, tombstones, round)
  }

  /** The server can be asked again. */
  retry(voter: Voter): void {
    for (const [line, tombstones] of this.#tombstones.get(voter) ?? [])
      this.#settle(voter, line, tombstones, Number.MAX_SAFE_INTEGER)
  }

  close(): void {
    this.#closed = true
    for (const cancel of this.#retries.values()) cancel()
    this.#tombstones.clear()
  }

  #settle(voter: Voter, line: string, tombstones: Map<string, Tombstone>, before: number): void {
    const due: Tombstone[] = []
    for (const [id, tombstone] of tombstones) {
      if (this.#runtime.now() >= tombstone.until) tombstones.delete(id)
      else if (!tombstone.isTold) due.push(tombstone)
    }
    for (let from = 0; from < due.length; from += BATCH) this.#tell(voter, line, due.slice(from, from + BATCH), before)
    this.#buried(voter, line, [])
  }

  #tell(voter: Voter, line: string, tombstones: readonly Tombstone[], before: number): void {
    for (const tombstone of tombstones) tombstone.isTold = true
    this.#bury(voter, line, tombstones, before).then(
      () => this.#buried(voter, line, tombstones),
      (error: unknown) => {
        diagnostics.failed(line, error)
        for (const tombstone of tombstones) tombstone.isTold = false
        this.#later(voter)
      },
    )
  }

  #buried(voter: Voter, line: string, buried: readonly Tombstone[]): void {
    const lines = this.#tombstones.get(voter)
    const tombstones = lines?.get(line)
    for (const tombstone of buried)
      if (tombstones?.get(tombstone.entry.id) === tombstone) tombstones.delete(tombstone.entry.id)
    if (tombstones?.size !== 0) return
    lines?.delete(line)
    if (lines?.size === 0) this.#tombstones.delete(voter)
  }

  #later(voter: Voter): void {
    if (this.#closed || this.#retries.has(voter)) return
    const act = (): void => {
      this.#retries.delete(voter)
      if (voter.phase === 'ready') this.retry(voter)
      else if ((this.#tombstones.get(voter)?.size ?? 0) > 0) this.#expire(voter)
    }
    this.#retries.set(voter, this.#runtime.after(RETRY_MS * (0.5 + this.#runtime.random()), act, false))
  }

  /** A server that stays away: what must have lapsed meanwhile is buried no more. */
  #expire(voter: Voter): void {
    for (const [line, tombstones] of this.#tombstones.get(voter) ?? []) {
      this.#buried(
        voter,
        line,
        [...tombstones.values()].filter(({ until }) => this.#runtime.now() >= until),
      )
    }
    if ((this.#tombstones.get(voter)?.size ?? 0) > 0) this.#later(voter)
  }
}
