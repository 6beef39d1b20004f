/** Polls for what nothing else wakes in this process: places that wait, and lines that are observed. */
import { Poller, type PollRange } from '../shared/poller.ts'
import { unhex } from './hex.ts'
import type { Queries } from './queries.ts'
import type { Waiters } from './waiters.ts'

export interface PolledFor {
  /** Whether anything is to be polled for. */
  needed(): boolean
  /** The places that are, with their lines. */
  waiting(): Iterable<readonly [id: string, line: string]>
}

export class WaiterPoller {
  /** What each observed line looked like: a change is told from that. */
  readonly stamps: Map<string, string> = new Map()
  readonly #waiters: Waiters
  readonly #queries: Queries
  readonly #for: PolledFor
  readonly #poller: Poller

  constructor(range: PollRange, waiters: Waiters, queries: Queries, polledFor: PolledFor) {
    this.#waiters = waiters
    this.#queries = queries
    this.#for = polledFor
    this.#poller = new Poller(range, { needed: () => polledFor.needed(), poll: () => this.#poll() })
  }

  /** There is somebody new to look out for. */
  kick(): void {
    this.#poller.kick()
  }

  /** Polls no more until the next kick. */
  rest(): void {
    this.#poller.rest()
  }

  stop(): void {
    this.#poller.stop()
  }

  /** What the line looks like now is what a change is told from. */
  async observe(line: string): Promise<void> {
    const before = this.stamps.get(line)
    const stamp = (await this.#read([line])).get(line) ?? ''
    this.stamps.set(line, stamp)
    // Who has observed the line for longer would find it as it was.
    if (before !== undefined && before !== stamp) this.#waiters.changed(line)
  }

  async #poll(): Promise<boolean> {
    let found = false
    const places = [...this.#for.waiting()].map(([id, line]) => ({ id, line }))
    if (places.length > 0) {
      for (const [id] of (await this.#queries.ask('poll', { places })).rows) {
        found = true
        this.#waiters.wake(String(id))
      }
    }
    const lines = this.#waiters.observed
    if (lines.length === 0) {
      this.stamps.clear()
      return found
    }
    const stamps = await this.#read(lines)
    for (const line of lines) {
      const stamp = stamps.get(line) ?? ''
      if (this.stamps.get(line) === stamp) continue
      found = true
      this.stamps.set(line, stamp)
      this.#waiters.changed(line)
    }
    return found
  }

  async #read(lines: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await this.#queries.ask('stamps', { lines })
    return new Map(rows.map(([name, stamp]) => [unhex(name), String(stamp)]))
  }
}
