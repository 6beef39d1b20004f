/**
 * Holds that last have their own keys watched, so that one that is removed by hand, or broken, is told at once and not at
 * the next heartbeat. Most holds are over before that would pay: a watch costs as much as a pair, and a short hold has none.
 */
import type { Standing, Standings } from './standing.ts'
import type { Vigils } from './vigils.ts'

const TICK_MS = 500
/** A process that holds more than this learns of the rest by heartbeats, and of a break by the bell. */
const WATCHED_MAX = 1_000

export class Tenures {
  readonly #standings: Standings
  readonly #vigils: Vigils
  /** Those that stood at the last tick, and were not watched. */
  #elders: ReadonlySet<Standing> = new Set()
  #timer: NodeJS.Timeout | null = null
  #closed = false

  constructor(standings: Standings, vigils: Vigils) {
    this.#standings = standings
    this.#vigils = vigils
  }

  /** Somebody stands: begins to look for those who stay, unless it does. */
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
    const elders = new Set<Standing>()
    for (const standing of this.#standings) {
      if (this.#vigils.size >= WATCHED_MAX) break
      const { entry, granted, slot, modRevision } = standing
      if (!granted || this.#vigils.watches(entry.id)) continue
      // From the revision after its own: what has happened to it since is told, too.
      if (this.#elders.has(standing)) this.#vigils.guard(entry.id, slot.keyText, modRevision + 1n)
      else elders.add(standing)
    }
    this.#elders = elders
    if (this.#standings.size > 0) this.begin()
  }
}
