/**
 * How waiters of this process are woken: notifications to one inbox, and polling for as long as those are not proved to
 * arrive. A pooler in between, or a half-open connection, takes LISTEN and delivers nothing, so the inbox is believed
 * only after it has heard a message of its own, and again every few seconds while somebody waits.
 */
import type { PollRange } from '../../shared/poller.ts'
import type { Wakeups } from '../dialect.ts'
import { WaiterPoller } from '../waiter-poller.ts'
import { Waiters } from '../waiters.ts'
import { OBSERVE_MS, type PostgresQueries } from './queries.ts'
import type { Hearing, PostgresSession } from './session.ts'

export interface PostgresWakeupsParts {
  readonly session: PostgresSession
  readonly queries: PostgresQueries
  /** Where the places of this process are told of their grants. */
  readonly inbox: string
  /** A notification here carries the name, in hex, of a line that somebody observes. */
  readonly channel: string
  /** Whether the session can hear. */
  readonly hears: boolean
  readonly timeoutMs: number
  readonly poll: PollRange
}

const PULSE = 'pulse'
const PULSE_MS = 5_000
const PULSE_WAIT_MS = 2_000

export class PostgresWakeups implements Wakeups, Hearing {
  readonly waiters: Waiters = new Waiters()
  readonly isTold: boolean
  readonly #parts: PostgresWakeupsParts
  readonly #poller: WaiterPoller
  #stopHearing: (() => Promise<void>) | null = null
  #isLive = false
  #first: Promise<void> | null = null
  #settleFirst: () => void = () => {}
  #pulseTimer: NodeJS.Timeout | null = null
  #deafTimer: NodeJS.Timeout | null = null
  #observeTimer: NodeJS.Timeout | null = null
  #closed = false

  constructor(parts: PostgresWakeupsParts) {
    this.#parts = parts
    this.isTold = parts.hears
    const { waiters } = this
    this.#poller = new WaiterPoller(parts.poll, waiters, parts.queries, {
      needed: () => !this.#isLive && !waiters.isIdle,
      waiting: () => waiters.waiting,
    })
    waiters.onDemand = () => this.#demanded()
  }

  /** Begins to hear. null: it is settled whether notifications arrive; else a promise of that. */
  start(): Promise<void> | null {
    if (this.#first !== null) return this.#isFirstSettled ? null : this.#first
    const { session, inbox, channel, timeoutMs } = this.#parts
    this.#first = new Promise((resolve) => {
      // Who watches first waits for the inbox, but not for long: polling does as well.
      const timer = setTimeout(() => this.#settleFirst(), timeoutMs)
      this.#settleFirst = () => {
        clearTimeout(timer)
        this.#isFirstSettled = true
        resolve()
      }
    })
    this.#stopHearing = session.hear([inbox, channel], this)
    if (this.#stopHearing === null) this.#settleFirst()
    return this.#isFirstSettled ? null : this.#first
  }
  #isFirstSettled = false

  /** Has the line tell the channel for a while. */
  async observe(line: string): Promise<void> {
    await this.#parts.queries.ask('observe', { lines: [line] })
  }

  heard(channel: string, payload: string): void {
    if (channel === this.#parts.channel) {
      this.waiters.changed(Buffer.from(payload, 'hex').toString())
    } else if (payload === PULSE) {
      this.#proved()
    } else {
      const [id = '', token] = payload.split(' ')
      this.waiters.wake(id, token === undefined ? undefined : { id, token: BigInt(token) })
    }
  }

  opened(): void {
    this.#pulse()
  }

  lost(): void {
    this.#isLive = false
    this.#settleFirst()
    if (!this.#closed && !this.waiters.isIdle) this.#poller.kick()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#poller.stop()
    this.#settleFirst()
    for (const timer of [this.#pulseTimer, this.#deafTimer, this.#observeTimer]) if (timer !== null) clearTimeout(timer)
    await this.#stopHearing?.()
  }

  /** The inbox has heard itself. What was said before may have been missed, so all look once. */
  #proved(): void {
    if (this.#deafTimer !== null) clearTimeout(this.#deafTimer)
    this.#deafTimer = null
    if (this.#isLive || this.#closed) return
    this.#isLive = true
    this.#poller.rest()
    this.#settleFirst()
    this.waiters.wakeAll()
    this.#schedulePulse()
  }

  #pulse(): void {
    if (this.#closed || this.#stopHearing === null) return
    const { queries, inbox } = this.#parts
    if (this.#deafTimer === null) this.#deafTimer = setTimeout(() => this.#deaf(), PULSE_WAIT_MS).unref()
    this.#background(queries.ask('notify', { channel: inbox, payload: PULSE }))
    this.#schedulePulse()
  }

  #deaf(): void {
    this.#deafTimer = null
    this.lost()
    this.#schedulePulse()
  }

  #schedulePulse(): void {
    if (this.#pulseTimer !== null || this.#closed) return
    this.#pulseTimer = setTimeout(() => {
      this.#pulseTimer = null
      if (this.waiters.isIdle && this.#isLive) return
      this.#pulse()
    }, PULSE_MS).unref()
  }

  #demanded(): void {
    if (this.#closed) return
    if (!this.#isLive) this.#poller.kick()
    if (this.#stopHearing !== null) this.#schedulePulse()
    if (this.waiters.observed.length > 0 && this.#observeTimer === null) this.#keepObserving()
  }

  #keepObserving(): void {
    this.#observeTimer = setTimeout(() => {
      this.#observeTimer = null
      const lines = this.waiters.observed
      if (lines.length === 0 || this.#closed) return
      this.#background(this.#parts.queries.ask('observe', { lines }))
      this.#keepObserving()
    }, OBSERVE_MS / 3).unref()
  }

  /** A pulse or a registration that fails is made again: the next one is scheduled already. */
  #background(work: Promise<unknown>): void {
    work.catch(() => this.lost())
  }
}
