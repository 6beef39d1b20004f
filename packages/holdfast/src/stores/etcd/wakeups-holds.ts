/**
 * Watches the keys of holds that last, so that a holder hears at once when somebody removes or breaks its place, and
 * not at the next heartbeat. A watch costs as much as a pair of acquire and release, so a short hold has none.
 */
import type { OwnPlace, OwnPlaces } from './places.ts'
import type { Wakeups } from './wakeups.ts'

const TICK_MS = 500
/** A process that holds more than this learns of the rest by heartbeats, and of a break by the bell. */
const WATCHED_MAX = 1_000

export class HoldWakeups {
  readonly #ownPlaces: OwnPlaces
  readonly #wakeups: Wakeups
  /** Holds that stood at the last tick, and were not watched. */
  #elders: ReadonlySet<OwnPlace> = new Set()
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(ownPlaces: OwnPlaces, wakeups: Wakeups) {
    this.#ownPlaces = ownPlaces
    this.#wakeups = wakeups
  }

  /** A place is held: begins to look for holds that last, unless it already looks. */
  begin(): void {
    if (this.#timer !== null || this.#closed) return
    this.#timer = setTimeout(() => this.#tick(), TICK_MS)
    this.#timer.unref()
  }

  close(): void {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    this.#elders = new Set()
  }

  #tick(): void {
    this.#timer = null
    const elders = new Set<OwnPlace>()
    for (const standing of this.#ownPlaces) {
      if (this.#wakeups.size >= WATCHED_MAX) break
      const { entry, granted, slot, modRevision } = standing
      if (!granted || this.#wakeups.watches(entry.id)) continue
      // From the revision after its own, so that the watch tells what has happened to it since.
      if (this.#elders.has(standing)) this.#wakeups.guard(entry.id, slot.keyText, modRevision + 1n)
      else elders.add(standing)
    }
    this.#elders = elders
    if (this.#ownPlaces.size > 0) this.begin()
  }
}
