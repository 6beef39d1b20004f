/** Five fields of a crontab line, in UTC: minute, hour, day of the month, month, day of the week. */
import { shown } from '../../core/check.ts'
import { UsageError } from '../../core/errors.ts'

interface Field {
  readonly name: string
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const FIELDS: readonly Field[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of the month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, names: ['', ...MONTHS] },
  { name: 'day of the week', min: 0, max: 7, names: DAYS },
]

const DAY_MS = 86_400_000
/** The 29th of February comes at least once in eight years. */
const DAYS_MAX = 8 * 366 + 1

export class Cron {
  readonly #minutes: ReadonlySet<number>
  readonly #hours: ReadonlySet<number>
  readonly #dates: ReadonlySet<number>
  readonly #months: ReadonlySet<number>
  readonly #weekdays: ReadonlySet<number>
  /** If both are given, either will do, and a field that begins with a star is not: that is how crontab has it. */
  readonly #either: boolean

  constructor(text: string) {
    const parts = typeof text === 'string' ? text.trim().split(/\s+/) : []
    if (parts.length !== FIELDS.length) {
      throw new UsageError(`cron must be five fields, such as "30 2 * * mon-fri", given ${shown(text)}`)
    }
    const [minutes, hours, dates, months, weekdays] = FIELDS.map((field, i) =>
      readField(field, parts[i] as string, text),
    )
    this.#minutes = minutes as Set<number>
    this.#hours = hours as Set<number>
    this.#dates = dates as Set<number>
    this.#months = months as Set<number>
    // Both 0 and 7 are Sunday.
    this.#weekdays = new Set([...(weekdays as Set<number>)].map((day) => day % 7))
    this.#either = parts[2]?.startsWith('*') === false && parts[4]?.startsWith('*') === false
    if (this.next(0) === null) throw new UsageError(`cron ${shown(text)} never comes`)
  }

  /** The first time after `ms`, in milliseconds since 1970. */
  next(ms: number): number | null {
    const start = Math.floor(ms / 60_000) * 60_000 + 60_000
    const firstDay = Math.floor(start / DAY_MS)
    for (let day = firstDay; day < firstDay + DAYS_MAX; day++) {
      if (!this.#hasDay(day)) continue
      for (const hour of [...this.#hours].toSorted(ascending)) {
        for (const minute of [...this.#minutes].toSorted(ascending)) {
          const at = day * DAY_MS + hour * 3_600_000 + minute * 60_000
          if (at >= start) return at
        }
      }
    }
    return null
  }

  #hasDay(day: number): boolean {
    const { month, date } = dateOf(day)
    if (!this.#months.has(month)) return false
    // The first of January 1970 was a Thursday.
    const [isDate, isWeekday] = [this.#dates.has(date), this.#weekdays.has((day + 4) % 7)]
    return this.#either ? isDate || isWeekday : isDate && isWeekday
  }
}

const LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** The month (from 1) and the day in it, of a day counted from 1970. */
function dateOf(day: number): { readonly month: number; readonly date: number } {
  let left = day
  let year = 1970
  for (let length = yearLength(year); left >= length; length = yearLength(year)) {
    left -= length
    year++
  }
  for (const [month, usual] of LENGTHS.entries()) {
    const length = month === 1 && yearLength(year) === 366 ? 29 : usual
    if (left < length) return { month: month + 1, date: left + 1 }
    left -= length
  }
  throw new Error(`day ${day} is in no month`)
}

function yearLength(year: number): number {
  return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 366 : 365
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
        `the ${field.name} of cron must be ${field.min} to ${field.max}, a range, a list or a step, given ${shown(part)} in ${shown(whole)}`,
      )
    }
    for (let value = from; value <= to; value += step) values.add(value)
  }
  return values
}

function number(field: Field, text: string | undefined): number | null {
  if (text === undefined) return null
  const named = field.names?.indexOf(text.toLowerCase()) ?? -1
  const value = named >= 0 && text !== '' ? named : /^\d+$/.test(text) ? Number(text) : Number.NaN
  return value >= field.min && value <= field.max ? value : null
}
