/** Five fields of a crontab line: minute, hour, day of the month, month, day of the week; in UTC or in a time zone. */
import { shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import { TimeZone } from './time-zone.ts'

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: ['', ...MONTHS] },
  { name: 'day of the week', min: 0, max: 7, names: DAYS },
]

const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Around a century without a leap year, 40 years may pass before the 29th of February is a given day of the week. */
const DAYS_MAX = 41 * 366
/** No clock is put forward or back by more than this at once. */
const SHIFT_MS_MAX = 3 * HOUR_MS

export class Cron {
  readonly #zone: TimeZone
  readonly #minutes: readonly number[]
  readonly #hours: readonly number[]
  readonly #dates: ReadonlySet<number>
  readonly #months: ReadonlySet<number>
  readonly #weekdays: ReadonlySet<number>
  /**
   * Crontab's rule: if both day fields are given, a day needs to match only one of them. A field that begins with a
   * star does not count as given.
   */
  readonly #either: boolean
  /** True for `*` and for a step of it in the hour field: then an hour that the clock shows twice counts twice. */
  readonly #everyHour: boolean

  /**
   * @param timeZone a name such as 'Europe/Berlin'.
   */
  constructor(text: string, timeZone = 'UTC') {
    this.#zone = new TimeZone(timeZone)
    const fields = typeof text === 'string' ? (NICKNAMES[text.trim().toLowerCase()] ?? text) : ''
    const parts = fields.trim().split(/\s+/)
    if (parts.length !== FIELDS.length) {
      throw new UsageError(`cron must be five fields, such as "30 2 * * mon-fri", or @daily, given ${shown(text)}`)
    }
    const [minutes, hours, dates, months, weekdays] = FIELDS.map((field, i) =>
      readField(field, parts[i] as string, text),
    ) as [Set<number>, Set<number>, Set<number>, Set<number>, Set<number>]
    this.#minutes = [...minutes].toSorted(ascending)
    this.#hours = [...hours].toSorted(ascending)
    this.#dates = dates
    this.#months = months
    // Both 0 and 7 are Sunday.
    this.#weekdays = new Set([...weekdays].map((day) => day % 7))
    this.#either = parts[2]?.startsWith('*') === false && parts[4]?.startsWith('*') === false
    this.#everyHour = parts[1]?.startsWith('*') === true
    if (this.next(0) === null) throw new UsageError(`cron ${shown(text)} never matches a date`)
  }

  /** The first time after `ms`, in milliseconds since 1970. null: none within 41 years. */
  next(ms: number): number | null {
    const localMs = this.#zone.localAt(ms)
    let best: number | null = null
    for (const candidateMs of this.#localTimes(localMs - SHIFT_MS_MAX)) {
      // A later time on the clock can be an earlier instant only by as much as clocks are put back.
      if (best !== null && candidateMs > this.#zone.localAt(best) + SHIFT_MS_MAX) break
      for (const at of this.#zone.instantsOf(candidateMs, this.#everyHour)) {
        if (at > ms && (best === null || at < best)) best = at
      }
    }
    return best
  }

  /** The last time that is not after `ms`. null: none within 41 years. */
  last(ms: number): number | null {
    let backMs = HOUR_MS
    while (backMs < DAYS_MAX * DAY_MS && (this.next(ms - backMs) ?? Number.POSITIVE_INFINITY) > ms) backMs *= 2
    let last: number | null = null
    for (let at = this.next(ms - backMs); at !== null && at <= ms; at = this.next(at)) last = at
    return last
  }

  /** The matching times as the clock shows them, in order, as if the clock showed UTC. */
  *#localTimes(fromMs: number): Generator<number> {
    const firstDay = Math.floor(fromMs / DAY_MS)
    for (let day = firstDay; day < firstDay + DAYS_MAX; day++) {
      if (!this.#hasDay(day)) continue
      for (const hour of this.#hours) {
        for (const minute of this.#minutes) {
          const at = day * DAY_MS + hour * HOUR_MS + minute * 60_000
          if (at >= fromMs) yield at
        }
      }
    }
  }

  #hasDay(day: number): boolean {
    const date = new Date(day * DAY_MS)
    if (!this.#months.has(date.getUTCMonth() + 1)) return false
    const [isDate, isWeekday] = [this.#dates.has(date.getUTCDate()), this.#weekdays.has(date.getUTCDay())]
    return this.#either ? isDate || isWeekday : isDate && isWeekday
  }
}

const ascending = (a: number, b: number): number => a - b

function readField(field: Field, text: string, whole: string): Set<number> {
  const values = new Set<number>()
  for (const part of text.split(',')) {
    const match = /^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d+))?$/i.exec(part)
    const from = match?.[1] === '*' ? field.min : number(field, match?.[1])
    const isOpen = match?.[1] === '*' || (match?.[2] === undefined && match?.[3] !== undefined)
    const to = isOpen && match?.[2] === undefined ? field.max : number(field, match?.[2] ?? match?.[1])
    const step = match?.[3] === undefined ? 1 : Number(match[3])
    if (match === null || from === null || to === null || from > to || step < 1 || (match[1] === '*' && match[2])) {
      throw new UsageError(
        `the ${field.name} of cron must be ${field.min} to ${field.max}, a range, a list or a step, given ` +
          `${shown(part)} in ${shown(whole)}`,
      )
    }
    for (let value = from; value <= to; value += step) values.add(value)
  }
  return values
}

function number(field: Field, text: string | undefined): number | null {
  if (text === undefined) return null
  // By the full name, or by its first three letters.
  const lower = text.toLowerCase()
  const named = field.names?.findIndex((name) => name !== '' && (name === lower || name.slice(0, 3) === lower)) ?? -1
  const value = named >= 0 ? named : /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= field.min && value <= field.max ? value : null
}
