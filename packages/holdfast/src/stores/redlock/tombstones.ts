/** Places that were given up on a server which has not confirmed it: told again until it has, or until they must have lapsed. No leftovers. */
import { diagnostics } from '../../core/diagnostics.ts'
import type { Entry } from '../../driver.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Voter } from './voter.ts'

/** One of those places. */
export interface Debt {
  readonly entry: Entry
  /** In which it was given up: a place that was entered again later is not meant. */
  readonly round: number
  readonly until: number
  /** Told, and not answered yet. */
  isTold: boolean
}

/** Tells a server of them; requests to enter of the given round, or of later ones, are not among what comes too late. */
type Disown = (voter: Voter, line: string, debts: readonly Debt[], before: number) => Promise<unknown>

const RETRY_MS = 200
/** Places in one request: a server that stood still under load is owed thousands. */
const BATCH = 500

export class Janitor {
  readonly #runtime: Runtime
  readonly #disown: Disown
  /** By server, by line, by id. */
  readonly #debts = new Map<Voter, Map<string, Map<string, Debt>>>()
  readonly #retries = new Map<Voter, () => void>()
  #closed = false

  constructor(runtime: Runtime, disown: Disown) {
    this.#runtime = runtime
    this.#disown = disown
  }

  add(voter: Voter, entry: Entry, round: number): void {
    if (this.#closed) return
    let lines = this.#debts.get(voter)
    if (lines === undefined) this.#debts.set(voter, (lines = new Map()))
    let debts = lines.get(entry.line)
    if (debts === undefined) lines.set(entry.line, (debts = new Map()))
    debts.set(entry.id, { entry, round, until: this.#runtime.now() + 2 * entry.ttlMs, isTold: false })
    this.#later(voter)
  }

  /** A place is entered in that line in that round: it must not meet our own vote for an older one, and is itself owed no more. */
  clear(voter: Voter, line: string, id: string, round: number): void {
    const debts = this.#debts.size === 0 ? undefined : this.#debts.get(voter)?.get(line)
    if (debts === undefined) return
    debts.delete(id)
    if (voter.phase === 'ready') this.#settle(voter, line, debts, round)
  }

  /** The server can be asked again. */
  retry(voter: Voter): void {
    for (const [line, debts] of this.#debts.get(voter) ?? []) this.#settle(voter, line, debts, Number.MAX_SAFE_INTEGER)
  }

  close(): void {
    this.#closed = true
    for (const cancel of this.#retries.values()) cancel()
    this.#debts.clear()
  }

  #settle(voter: Voter, line: string, debts: Map<string, Debt>, before: number): void {
    const due: Debt[] = []
    for (const [id, debt] of debts) {
      if (this.#runtime.now() >= debt.until) debts.delete(id)
      else if (!debt.isTold) due.push(debt)
    }
    for (let from = 0; from < due.length; from += BATCH) this.#tell(voter, line, due.slice(from, from + BATCH), before)
    this.#paid(voter, line, [])
  }

  #tell(voter: Voter, line: string, debts: readonly Debt[], before: number): void {
    for (const debt of debts) debt.isTold = true
    this.#disown(voter, line, debts, before).then(
      () => this.#paid(voter, line, debts),
      (error: unknown) => {
        diagnostics.failed(line, error)
        for (const debt of debts) debt.isTold = false
        this.#later(voter)
      },
    )
  }

  #paid(voter: Voter, line: string, paid: readonly Debt[]): void {
    const lines = this.#debts.get(voter)
    const debts = lines?.get(line)
    for (const debt of paid) if (debts?.get(debt.entry.id) === debt) debts.delete(debt.entry.id)
    if (debts?.size !== 0) return
    lines?.delete(line)
    if (lines?.size === 0) this.#debts.delete(voter)
  }

  #later(voter: Voter): void {
    if (this.#closed || this.#retries.has(voter)) return
    const act = (): void => {
      this.#retries.delete(voter)
      if (voter.phase === 'ready') this.retry(voter)
      else if ((this.#debts.get(voter)?.size ?? 0) > 0) this.#expire(voter)
    }
    this.#retries.set(voter, this.#runtime.after(RETRY_MS * (0.5 + this.#runtime.random()), act, false))
  }

  /** A server that stays away: what must have lapsed meanwhile is owed no more. */
  #expire(voter: Voter): void {
    for (const [line, debts] of this.#debts.get(voter) ?? []) {
      this.#paid(
        voter,
        line,
        [...debts.values()].filter(({ until }) => this.#runtime.now() >= until),
      )
    }
    if ((this.#debts.get(voter)?.size ?? 0) > 0) this.#later(voter)
  }
}
