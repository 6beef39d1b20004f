/**
 * How waiters of this process are woken: by doorbells; how observers are: by a look on the server; and both by polling
 * for the lines that no ear listens to.
 */
import type { Place } from '../../../contract/driver.ts'
import type { PollRange } from '../../shared/poller.ts'
import type { Wakeups } from '../dialect.ts'
import type { Seat } from '../session.ts'
import { WaiterPoller } from '../waiter-poller.ts'
import { Waiters } from '../waiters.ts'
import { DoorbellWakeups } from './wakeups-doorbell.ts'
import { LineWakeups } from './wakeups-lines.ts'
import type { Ear } from './pool.ts'
import type { MysqlQueries } from './queries.ts'

export interface MysqlWakeupsParts {
  readonly queries: MysqlQueries
  /** Opens a connection for statements that wait; null: nobody is rung for. */
  readonly ear: ((timeoutMs: number) => Promise<Ear>) | null
  readonly timeoutMs: number
  readonly poll: PollRange
}

export class MysqlWakeups implements Wakeups {
  readonly waiters: Waiters = new Waiters()
  readonly isTold: boolean
  readonly #queries: MysqlQueries
  readonly #poller: WaiterPoller
  readonly #doorbell: DoorbellWakeups | null
  readonly #lines: LineWakeups | null
  /** The places in a crowd, and who holds their bells. */
  readonly #bells = new Map<string, Seat>()

  constructor({ queries, ear, timeoutMs, poll }: MysqlWakeupsParts) {
    const { waiters } = this
    this.#queries = queries
    this.isTold = ear !== null
    this.#doorbell =
      ear === null
        ? null
        : new DoorbellWakeups({ waiters, open: ear, queries, timeoutMs, unattended: () => this.#poller.kick() })
    this.#poller = new WaiterPoller(poll, waiters, queries, {
      needed: () => {
        // A connection that was lost is made anew in time.
        if (waiters.observed.length > 0) this.#lines?.demand()
        return this.#isPollNeeded()
      },
      waiting: () => this.#unattended(),
    })
    const poller = this.#poller
    this.#lines = ear === null ? null : new LineWakeups({ waiters, open: ear, queries, timeoutMs, poller })
    waiters.onDemand = () => {
      this.#doorbell?.demand()
      if (this.#isPollNeeded()) this.#poller.kick()
    }
  }

  async observe(line: string): Promise<void> {
    await this.#poller.observe(line)
    this.#lines?.demand()
  }

  answered(id: string, place: Place | null, seat: Seat | null): void {
    if (place === null) this.#silence(id)
    // Only in a crowd, and only where it entered first.
    else if (this.isTold && seat !== null && place.ahead > 0 && !this.#bells.has(id)) this.#bells.set(id, seat)
  }

  seatOf(id: string): Seat | undefined {
    const seat = this.#bells.get(id)
    this.#bells.delete(id)
    return seat
  }

  async close(): Promise<void> {
    this.#poller.stop()
    this.#doorbell?.close()
    this.#lines?.close()
  }

  /** A place that is gone has no use for its bell. */
  #silence(id: string): void {
    const seat = this.seatOf(id)
    // If that fails the session is gone, and the bell with it.
    if (seat?.isOpen === true) this.#queries.ask('silence', { id }, seat).catch(nothing)
  }

  /** The places in lines that nobody listens to. */
  *#unattended(): Generator<[id: string, line: string]> {
    this.#doorbell?.demand()
    for (const [line, ids] of this.waiters.waitingIn) {
      // An ear is at the first of those that wait in a line; a place that has become heavier may be granted before that
      // one.
      const isAttended = this.#doorbell?.attends(line) === true
      for (const id of ids) if (!isAttended || this.waiters.isRaising(id)) yield [id, line]
    }
  }

  #isPollNeeded(): boolean {
    const { waitingIn, observed, hasRaising } = this.waiters
    if (hasRaising || observed.some((line) => this.#lines?.heeds(line) !== true)) return true
    for (const line of waitingIn.keys()) if (this.#doorbell?.attends(line) !== true) return true
    return false
  }
}

function nothing(): void {}
