/**
 * What clocks show in a time zone, by the zones that the JavaScript engine knows. Twice a year, in many zones, clocks
 * show an hour twice or not at all.
 */
import { shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'

const DAY_MS = 86_400_000

export class TimeZone {
  /** null: UTC, which never changes. */
  readonly #format: Intl.DateTimeFormat | null

  constructor(name: string) {
    this.#format = name === 'UTC' ? null : formatOf(name)
  }

  /** What the clock shows at this instant, as milliseconds since 1970 as if the clock showed UTC. */
  localAt(ms: number): number {
    if (this.#format === null) return ms
    const wholeMs = Math.floor(ms / 1_000) * 1_000
    const shows: Record<string, number> = {}
    for (const { type, value } of this.#format.formatToParts(wholeMs)) shows[type] = Number(value)
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = shows
    return Date.UTC(year, month - 1, day, hour, minute, second) + (ms - wholeMs)
  }

  /**
   * The instants at which the clock shows this time. A time that the clock shows twice counts the first time only,
   * unless `twice`. A time that the clock skips comes as much later as the clock is put forward: 2:30 comes at 3:30.
   */
  instantsOf(localMs: number, twice: boolean): readonly number[] {
    if (this.#format === null) return [localMs]
    // The zone's distance from UTC a day before and a day after: between them lies at most one change.
    const [before, after] = [-DAY_MS, DAY_MS].map((ms) => localMs - (this.localAt(localMs + ms) - (localMs + ms)))
    const instants = [...new Set([before as number, after as number])]
      .filter((at) => this.localAt(at) === localMs)
      .toSorted((a, b) => a - b)
    if (instants.length === 0) return [before as number]
    return twice ? instants : instants.slice(0, 1)
  }
}

function formatOf(name: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error
    throw new UsageError(`timeZone must be a name such as "Europe/Berlin", given ${shown(name)}`)
  }
}
