/** Leaves that a server has not confirmed: repeated until it has, or until the place must have lapsed. No leftovers. */
import { diagnostics } from '../../core/diagnostics.ts'
import type { Entry } from '../../driver.ts'
import type { Runtime } from '../../core/runtime.ts'
import type { Voter } from './voter.ts'

interface Debt {
  readonly entry: Entry
  readonly round: number
  readonly until: number
}

const RETRY_MS = 200
const NONE: readonly string[] = []

export class Janitor {
  readonly #runtime: Runtime
  readonly #leave: (voter: Voter, entry: Entry, round: number) => Promise<unknown>
  /** By server, by line, by id. */
  readonly #debts = new Map<Voter, Map<string, Map<string, Debt>>>()
  readonly #retries = new Map<Voter, () => void>()
  #closed = false

  constructor(runtime: Runtime, leave: (voter: Voter, entry: Entry, round: number) => Promise<unknown>) {
    this.#runtime = runtime
    this.#leave = leave
  }

  add(voter: Voter, entry: Entry, round: number): void {
    if (this.#closed) return
    let lines = this.#debts.get(voter)
    if (lines === undefined) this.#debts.set(voter, (lines = new Map()))
    let debts = lines.get(entry.line)
    if (debts === undefined) lines.set(entry.line, (debts = new Map()))
    debts.set(entry.id, { entry, round, until: this.#runtime.now() + 2 * entry.ttlMs })
    this.#later(voter)
  }

  /** What is still to be left on that server in that line: the next enter there does it on its way. */
  owed(voter: Voter, line: string): readonly string[] {
    const debts = this.#debts.size === 0 ? undefined : this.#debts.get(voter)?.get(line)
    return debts === undefined ? NONE : [...debts.keys()]
  }

  paid(voter: Voter, line: string, ids: readonly string[]): void {
    if (this.#debts.size === 0) return
    const lines = this.#debts.get(voter)
    const debts = lines?.get(line)
    for (const id of ids) debts?.delete(id)
    if (debts?.size !== 0) return
    lines?.delete(line)
    if (lines?.size === 0) this.#debts.delete(voter)
  }

  /** The server can be asked again. */
  retry(voter: Voter): void {
    for (const [line, debts] of this.#debts.get(voter) ?? []) {
      for (const [id, { entry, round, until }] of debts) {
        if (this.#runtime.now() >= until) {
          this.paid(voter, line, [id])
          continue
        }
        this.#leave(voter, entry, round).then(
          () => this.paid(voter, line, [id]),
          (error: unknown) => {
            diagnostics.failed(line, error)
            this.#later(voter)
          },
        )
      }
    }
  }

  close(): void {
    this.#closed = true
    for (const cancel of this.#retries.values()) cancel()
    this.#debts.clear()
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
      for (const [id, { until }] of debts) if (this.#runtime.now() >= until) this.paid(voter, line, [id])
    }
    if ((this.#debts.get(voter)?.size ?? 0) > 0) this.#later(voter)
  }
}
