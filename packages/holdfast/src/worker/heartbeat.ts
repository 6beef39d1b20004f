/**
 * The worker's own heartbeat. The locking thread renews at a third of the lease. If a place was not renewed at half of
 * the lease, its thread is blocked, and the worker renews the place. After `silenceMs` the worker gives up the thread,
 * and its places with it.
 */
import { diagnostics } from '../contract/events.ts'
import { instant } from '../contract/validity.ts'
import type { Driver, Entry, Place } from '../contract/driver.ts'
import { system } from '../system.ts'
import { GONE, type Renewals } from './renewals.ts'

interface Kept {
  readonly entry: Entry
  /** When the place was last renewed, by this thread's clock. */
  sinceMs: number
  busy: boolean
  /** The other thread wants the place renewed: somebody holds it or waits for it, and it is no fixed lease. */
  wanted: boolean
}

const TICK_MS_MAX = 1_000

export class WorkerHeartbeat {
  readonly #driver: Driver
  readonly #renewals: Renewals
  /** How long the other thread has been silent. */
  readonly #silentMs: () => number
  readonly #silenceMs: number
  /** What to add to this thread's clock to get the other's. */
  readonly #shiftMs: number
  readonly #kept = new Map<string, Kept>()
  readonly #slots = new Map<string, number>()
  #timer: NodeJS.Timeout | null = null
  #dueAt = Number.POSITIVE_INFINITY

  constructor(driver: Driver, renewals: Renewals, silentMs: () => number, silenceMs: number, shiftMs: number) {
    this.#driver = driver
    this.#renewals = renewals
    this.#silentMs = silentMs
    this.#silenceMs = silenceMs
    this.#shiftMs = shiftMs
  }

  /** The store has answered for this place. */
  keep(entry: Entry, place: Place): void {
    const { monoMs } = place.since
    const kept = this.#kept.get(entry.id)
    if (kept === undefined) {
      this.#kept.set(entry.id, { entry, sinceMs: monoMs, busy: false, wanted: false })
    } else {
      kept.sinceMs = Math.max(kept.sinceMs, monoMs)
    }
    this.#arm(monoMs + entry.ttlMs / 2)
  }

  /** From now on the place's slot may belong to another place. */
  drop(id: string): void {
    this.#kept.delete(id)
    this.#slots.delete(id)
  }

  /** Says whether the worker renews the place if the other thread does not. */
  want(id: string, wanted: boolean): void {
    const kept = this.#kept.get(id)
    if (kept !== undefined) kept.wanted = wanted
  }

  setSlot(id: string, slot: number): void {
    this.#slots.set(id, slot)
  }

  close(): void {
    this.#kept.clear()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #arm(dueAt: number): void {
    if (dueAt >= this.#dueAt) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#dueAt = dueAt
    const ms = Math.min(TICK_MS_MAX, Math.max(1, dueAt - system.now()))
    this.#timer = setTimeout(() => this.#tick(), ms)
    this.#timer.unref()
  }

  #tick(): void {
    this.#timer = null
    this.#dueAt = Number.POSITIVE_INFINITY
    if (this.#kept.size === 0) return
    if (this.#silentMs() > this.#silenceMs) {
      this.#giveUp()
      return
    }
    const now = system.now()
    const due: Kept[] = []
    let next = now + TICK_MS_MAX
    for (const kept of this.#kept.values()) {
      if (!kept.wanted) continue
      const dueAt = kept.sinceMs + kept.entry.ttlMs / 2
      if (dueAt > now) next = Math.min(next, dueAt)
      else if (!kept.busy) due.push(kept)
    }
    if (due.length > 0) void this.#renew(due)
    this.#arm(next)
  }

  async #renew(due: readonly Kept[]): Promise<void> {
    for (const kept of due) kept.busy = true
    const { wallMs } = instant(system)
    try {
      const places = await this.#driver.touch(due.map(({ entry }) => entry))
      for (const [i, kept] of due.entries()) this.#renewed(kept, places[i] ?? null, wallMs)
    } catch (error) {
      // The place is not lost yet: the reader of the renewals judges the deadline, and the next tick tries again.
      diagnostics.failed(due[0]?.entry.line ?? '', error)
    }
    const now = system.now()
    for (const kept of due) {
      kept.busy = false
      const { ttlMs } = kept.entry
      this.#arm(Math.max(kept.sinceMs + ttlMs / 2, now + ttlMs / 20))
    }
  }

  #renewed(kept: Kept, place: Place | null, wallMs: number): void {
    const { entry } = kept
    // The place was left while the renewal was under way.
    if (this.#kept.get(entry.id) !== kept) return
    const slot = this.#slots.get(entry.id)
    if (place === null) {
      this.#kept.delete(entry.id)
      if (slot !== undefined) this.#renewals.giveUp(slot, GONE.lapsed)
      return
    }
    kept.sinceMs = Math.max(kept.sinceMs, place.since.monoMs)
    if (slot !== undefined)
      this.#renewals.write(slot, place.since.monoMs + this.#shiftMs, Math.min(wallMs, place.since.wallMs))
  }

  /**
   * Write the verdict first, and leave the places afterwards: then the other thread never believes in a place that
   * others may already have.
   */
  #giveUp(): void {
    const all = [...this.#kept.values()]
    this.#kept.clear()
    for (const { entry } of all) {
      const slot = this.#slots.get(entry.id)
      if (slot !== undefined) this.#renewals.giveUp(slot, GONE.silent)
    }
    for (const { entry } of all) {
      this.#driver.leave(entry).catch((error: unknown) => diagnostics.failed(entry.line, error))
    }
  }
}
