/**
 * How this process hears of changes in the lines that it observes, as whoever would let go for others does: one
 * connection for all of them calls a procedure that looks on the server (heed_v6). Lines that are new since a call
 * began, and all of them while no connection can be had, are polled for.
 */
import type { WaiterPoller } from '../waiter-poller.ts'
import type { Waiters } from '../waiters.ts'
import { unhex } from '../hex.ts'
import type { Ear } from './pool.ts'
import { HEED_SPAN_MS, type MysqlQueries } from './queries.ts'
import type { Value } from './reply.ts'
import { offUntil } from './wakeups-doorbell.ts'

export interface LineWakeupsParts {
  readonly waiters: Waiters
  readonly queries: MysqlQueries
  /** Has what each observed line looked like. */
  readonly poller: WaiterPoller
  /** Opens a connection whose answers may take that long. */
  readonly open: (timeoutMs: number) => Promise<Ear>
  readonly timeoutMs: number
}

/** The server looks at all of them up to 40 times a second: more than these are left to the polls. */
const LINES_MAX = 100

export class LineWakeups {
  readonly #parts: LineWakeupsParts
  #heeded: ReadonlySet<string> = new Set()
  #ear: Ear | null = null
  #isServing = false
  #offUntil = 0
  #closed = false

  constructor(parts: LineWakeupsParts) {
    this.#parts = parts
  }

  /** Whether the server looks at this line now. */
  heeds(line: string): boolean {
    return this.#heeded.has(line)
  }

  /** Somebody has begun to observe. */
  demand(): void {
    if (this.#closed || this.#isServing || performance.now() < this.#offUntil) return
    this.#isServing = true
    void this.#serve()
  }

  close(): void {
    this.#closed = true
    this.#ear?.close()
  }

  async #serve(): Promise<void> {
    try {
      for (let lines = this.#observed(); lines.length > 0 && !this.#closed; lines = this.#observed()) {
        await this.#listen(lines)
      }
    } catch (error) {
      // Not told to anybody: polling takes over, and a store out of reach shows itself to the heartbeat.
      this.#offUntil = offUntil(error)
      this.#ear?.close()
      this.#ear = null
    }
    this.#heeded = new Set()
    this.#isServing = false
    if (!this.#closed && this.#parts.waiters.observed.length > 0) this.#parts.poller.kick()
  }

  async #listen(lines: readonly string[]): Promise<void> {
    const { waiters, queries, poller, open, timeoutMs } = this.#parts
    if (this.#ear?.isOpen() !== true) this.#ear = await open(HEED_SPAN_MS + timeoutMs)
    if (this.#closed) this.#ear.close()
    this.#heeded = new Set(lines)
    const stamped = lines.map((line) => [line, poller.stamps.get(line) ?? ''] as const)
    const { statement, values } = queries.write('heed', { stamped })
    const { rows } = await this.#ear.run(statement.text, values as Value[])
    for (const [name, stamp] of rows) {
      const line = unhex(name)
      poller.stamps.set(line, stamp === '-1' ? '' : String(stamp))
      waiters.changed(line)
    }
  }

  /** Those of which it is known what they looked like when the observer began. */
  #observed(): string[] {
    const { waiters, poller } = this.#parts
    return waiters.observed.filter((line) => poller.stamps.has(line)).slice(0, LINES_MAX)
  }
}
