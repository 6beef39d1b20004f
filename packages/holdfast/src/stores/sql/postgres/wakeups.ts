/**
 * How waiters of this process are woken: notifications to one inbox, and polling for as long as those are not proved to arrive.
 * A pooler in between, or a half-open connection, takes LISTEN and delivers nothing, so the inbox is believed only after it
 * has heard a message of its own, and again every few seconds while somebody waits.
 */
import { Poller, type PollRange } from '../sql/poller.ts'
import type { Watches } from '../sql/watches.ts'
import type { Hearing, Session } from './session.ts'

export interface HubQueries {
  notify(channel: string, payload: string): Promise<void>
  /** Which of these should look. */
  poll(waiting: ReadonlyMap<string, string>): Promise<string[]>
  /** A stamp for each line that changes with it. */
  stamps(lines: readonly string[]): Promise<Map<string, string>>
  /** Has the observed lines tell the channel for a while. */
  observe(lines: readonly string[]): Promise<void>
}

const PULSE = 'pulse'
const PULSE_MS = 5_000
const PULSE_WAIT_MS = 2_000
/** Observed lines are told to notify for a minute, and told again three times in that time. */
export const OBSERVE_MS = 60_000

export class Hub implements Hearing {
  readonly #watches: Watches
  readonly #queries: HubQueries
  readonly #inbox: string
  readonly #channel: string
  readonly #poller: Poller
  readonly #stamps = new Map<string, string>()
  #stopHearing: (() => Promise<void>) | null = null
  #isLive = false
  #first: Promise<void> | null = null
  #settleFirst: () => void = () => {}
  #pulseTimer: NodeJS.Timeout | null = null
  #deafTimer: NodeJS.Timeout | null = null
  #observeTimer: NodeJS.Timeout | null = null
  #closed = false

  constructor(inbox: string, channel: string, watches: Watches, queries: HubQueries, range: PollRange) {
    this.#inbox = inbox
    this.#channel = channel
    this.#watches = watches
    this.#queries = queries
    this.#poller = new Poller(range, { needed: () => !this.#isLive && !watches.isIdle, poll: () => this.#poll() })
    watches.onDemand = () => this.#demanded()
  }

  /** Begins to hear. null: it is settled whether notifications arrive; else a promise of that. */
  start(session: Session, waitMs: number): Promise<void> | null {
    if (this.#first !== null) return this.#isFirstSettled ? null : this.#first
    this.#first = new Promise((resolve) => {
      // Who watches first waits for the inbox, but not for long: polling does as well.
      const timer = setTimeout(() => this.#settleFirst(), waitMs)
      this.#settleFirst = () => {
        clearTimeout(timer)
        this.#isFirstSettled = true
        resolve()
      }
    })
    this.#stopHearing = session.hear([this.#inbox, this.#channel], this)
    if (this.#stopHearing === null) this.#settleFirst()
    return this.#isFirstSettled ? null : this.#first
  }
  #isFirstSettled = false

  heard(channel: string, payload: string): void {
    if (channel === this.#channel) {
      this.#watches.changed(Buffer.from(payload, 'hex').toString())
    } else if (payload === PULSE) {
      this.#proved()
    } else {
      const [id = '', token] = payload.split(' ')
      this.#watches.wake(id, token === undefined ? undefined : { id, token: BigInt(token) })
    }
  }

  opened(): void {
    this.#pulse()
  }

  lost(): void {
    this.#isLive = false
    this.#settleFirst()
    if (!this.#closed && !this.#watches.isIdle) this.#poller.kick()
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
    this.#watches.wakeAll()
    this.#schedulePulse()
  }

  #pulse(): void {
    if (this.#closed || this.#stopHearing === null) return
    if (this.#deafTimer === null) this.#deafTimer = setTimeout(() => this.#deaf(), PULSE_WAIT_MS).unref()
    this.#background(this.#queries.notify(this.#inbox, PULSE))
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
      if (this.#watches.isIdle && this.#isLive) return
      this.#pulse()
    }, PULSE_MS).unref()
  }

  #demanded(): void {
    if (this.#closed) return
    if (!this.#isLive) this.#poller.kick()
    if (this.#stopHearing !== null) this.#schedulePulse()
    if (this.#watches.observed.length > 0 && this.#observeTimer === null) this.#keepObserving()
  }

  #keepObserving(): void {
    this.#observeTimer = setTimeout(() => {
      this.#observeTimer = null
      const lines = this.#watches.observed
      if (lines.length === 0 || this.#closed) return
      this.#background(this.#queries.observe(lines))
      this.#keepObserving()
    }, OBSERVE_MS / 3).unref()
  }

  async #poll(): Promise<boolean> {
    let found = false
    if (this.#watches.waiting.size > 0) {
      for (const id of await this.#queries.poll(this.#watches.waiting)) {
        found = true
        this.#watches.wake(id)
      }
    }
    const lines = this.#watches.observed
    if (lines.length > 0) {
      const stamps = await this.#queries.stamps(lines)
      for (const line of lines) {
        const stamp = stamps.get(line) ?? ''
        if (this.#stamps.get(line) !== stamp) {
          found = true
          this.#stamps.set(line, stamp)
          this.#watches.changed(line)
        }
      }
    } else this.#stamps.clear()
    return found
  }

  /** A pulse or a registration that fails is made again: the next one is scheduled already. */
  #background(work: Promise<unknown>): void {
    work.catch(() => this.lost())
  }
}
