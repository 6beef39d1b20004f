/** The page of `holdfast top`: how it sorts and filters, and its rows. Knows no terminal and no store. */
import type { LineView } from '../contract/driver.ts'
import { formatDuration } from './duration.ts'
import type { LockLook } from './looks.ts'
import type { Key, Size } from './screen.ts'
import { type Column, clip, printable, table } from './table.ts'
import { heldBy, kind, who } from './view.ts'

/** The column to sort by; its first letter is the key that chooses it. */
export type Sort = 'waiters' | 'age' | 'lease' | 'name'

export const SORTS: readonly Sort[] = ['waiters', 'age', 'lease', 'name']

const FIXED_ROWS = 4

const longestWait = ({ waiters }: LineView): number => Math.max(0, ...waiters.map(({ ageMs }) => ageMs))
const age = ({ holders }: LineView): number => Math.max(-1, ...holders.map(({ ageMs }) => ageMs))
const lease = ({ holders }: LineView): number =>
  Math.min(Number.MAX_SAFE_INTEGER, ...holders.map(({ leftMs }) => leftMs))

/** What stands on top: the most waiters, the longest hold, the lease that ends first, or the first name. */
const ORDERS: Readonly<Record<Sort, (a: LineView, b: LineView) => number>> = {
  waiters: (a, b) => b.waiters.length - a.waiters.length || longestWait(b) - longestWait(a),
  age: (a, b) => age(b) - age(a),
  lease: (a, b) => lease(a) - lease(b),
  name: () => 0,
}

export class Board {
  /** What people should know of the store; shown as it is. */
  readonly #store: string
  #sort: Sort
  #isReversed = false
  #filter = ''
  #isTyping = false
  #isPaused = false
  #top = 0
  #look: LockLook | null = null

  constructor(store: string, sort: Sort) {
    this.#store = store
    this.#sort = sort
  }

  /** Takes a new look; a pause does not show it. */
  see(look: LockLook): void {
    if (!this.#isPaused || this.#look === null) this.#look = look
  }

  /** Returns true if the key ends the command. */
  press(key: Key, { rows }: Size): boolean {
    if (key === 'interrupt') return true
    if (this.#isTyping) {
      this.#type(key)
      return false
    }
    const page = Math.max(1, rows - FIXED_ROWS)
    const sort = SORTS.find((name) => name[0] === key)
    if (sort !== undefined) this.#sort = sort
    else if (key === 'r') this.#isReversed = !this.#isReversed
    else if (key === '/') this.#isTyping = true
    else if (key === 'escape') this.#filter = ''
    else if (key === ' ') this.#isPaused = !this.#isPaused
    else if (key === 'down' || key === 'j') this.#top += 1
    else if (key === 'up' || key === 'k') this.#top -= 1
    else if (key === 'page down') this.#top += page
    else if (key === 'page up') this.#top -= page
    else if (key === 'home') this.#top = 0
    else if (key === 'end') this.#top = Number.MAX_SAFE_INTEGER
    else return key === 'q'
    return false
  }

  #type(key: Key): void {
    if (key === 'enter' || key === 'escape') {
      this.#isTyping = false
      if (key === 'escape') this.#filter = ''
    } else if (key === 'backspace') this.#filter = this.#filter.replace(/.$/su, '')
    else if (/^.$/su.test(key)) this.#filter += key
    this.#top = 0
  }

  /** As many rows as the terminal has, none wider than the terminal. */
  rows(size: Size, nowMs: number, styled: boolean): string[] {
    const look = this.#look
    if (look === null) return []
    const lines = this.lines()
    const room = Math.max(0, size.rows - FIXED_ROWS)
    this.#top = Math.max(0, Math.min(this.#top, lines.length - room))
    const [head = '', ...body] = lineRows(lines.slice(this.#top, this.#top + room), size.columns)
    const last = this.#top + body.length
    const part = body.length === lines.length ? '' : `  ${this.#top + 1} to ${last} of ${lines.length}`
    const shown = [
      this.#title(look, nowMs),
      this.#state(look, nowMs, lines.length) + part,
      head,
      ...body,
      ...Array.from({ length: room - body.length }, () => ''),
      this.#keys(),
    ].map((row) => clip(row, size.columns))
    if (styled) {
      shown[0] = `\u001b[1m${shown[0]}\u001b[22m`
      shown[2] = `\u001b[7m${(shown[2] as string).padEnd(size.columns)}\u001b[27m`
      if (look.outage !== null) shown[1] = `\u001b[31;1m${shown[1]}\u001b[39;22m`
    }
    return shown.slice(0, size.rows)
  }

  /** The locks that pass the filter, in order. */
  lines(): LineView[] {
    const filter = this.#filter.toLowerCase()
    const lines = (this.#look?.lines ?? []).filter((line) => matches(line, filter))
    const order = ORDERS[this.#sort]
    lines.sort((a, b) => order(a, b) || (a.name < b.name ? -1 : 1))
    return this.#isReversed ? lines.toReversed() : lines
  }

  #title({ lines }: LockLook, nowMs: number): string {
    const holders = lines.reduce((sum, line) => sum + line.holders.length, 0)
    const waiters = lines.reduce((sum, line) => sum + line.waiters.length, 0)
    const time = new Date(nowMs).toTimeString().slice(0, 8)
    const counts = [amount(lines.length, 'lock'), amount(holders, 'holder'), amount(waiters, 'waiter')].join(', ')
    return `${time}  ${counts}  ${printable(this.#store)}`
  }

  #state({ outage, seenMs }: LockLook, nowMs: number, shown: number): string {
    const ago = formatDuration(Math.max(0, nowMs - seenMs))
    if (outage !== null) return `OUTAGE, seen ${ago} ago: ${printable(outage.message)}`
    const filter = this.#isTyping || this.#filter !== '' ? `  filter: ${printable(this.#filter)}` : ''
    const found = filter === '' ? '' : `${this.#isTyping ? '_' : ''} (${shown} found)`
    const paused = this.#isPaused ? `  PAUSED, seen ${ago} ago` : ''
    return `by ${this.#sort}${this.#isReversed ? ', reversed' : ''}${paused}${filter}${found}`
  }

  #keys(): string {
    if (this.#isTyping) return 'type to filter by lock or holder   Enter keep   Esc clear'
    return 'w waiters  a age  l lease  n name  r reverse  / filter  Space pause  q quit'
  }
}

function amount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

function matches({ name, holders }: LineView, filter: string): boolean {
  if (filter === '') return true
  return [name, ...holders.map(who)].some((text) => text.toLowerCase().includes(filter))
}

interface LineColumn extends Column {
  /** Also on a narrow screen. */
  readonly isAlways: boolean
  readonly cell: (line: LineView, holder: string | null) => string
}

const LINE_COLUMNS: readonly LineColumn[] = [
  { title: 'WAITERS', align: 'right', isAlways: true, cell: ({ waiters }) => String(waiters.length) },
  { title: 'LONGEST', align: 'right', isAlways: false, cell: (line) => shownWait(line) },
  { title: 'HELD', align: 'right', isAlways: false, cell: (line, holder) => shownTime(holder, age(line)) },
  { title: 'LEASE', align: 'right', isAlways: true, cell: (line, holder) => shownTime(holder, lease(line)) },
  { title: 'KIND', isAlways: false, cell: ({ capacity }) => kind(capacity) },
  // A name may be 512 letters long, and must not push its holder off the screen.
  { title: 'LOCK', isAlways: true, cell: ({ name }) => clip(printable(name), NAME_COLUMNS) },
  { title: 'HELD BY', isAlways: true, cell: (_, holder) => holder ?? '-' },
]

/** A screen with fewer columns has room for the most important ones only: a lock's name must stay on it. */
const NARROW_COLUMNS = 72

const NAME_COLUMNS = 40

/** A heading, and a row for each lock. */
function lineRows(lines: readonly LineView[], screenColumns: number): string[] {
  const columns = LINE_COLUMNS.filter(({ isAlways }) => isAlways || screenColumns >= NARROW_COLUMNS)
  const rows = lines.map((line) => columns.map(({ cell }) => cell(line, heldBy(line))))
  return table(columns, rows, false).split('\n')
}

function shownWait(line: LineView): string {
  return line.waiters.length === 0 ? '-' : formatDuration(longestWait(line))
}

function shownTime(holder: string | null, ms: number): string {
  return holder === null ? '-' : formatDuration(ms)
}

/** The same lock as one plain line. */
export function plainLine(line: LineView): string {
  if (line.capacity === 0) return `${printable(line.name)}: free`
  const holder = heldBy(line)
  const held = holder === null ? 'held by nobody' : `held by ${holder} for ${formatDuration(age(line))}`
  const waiting = line.waiters.length === 0 ? '' : `, longest wait ${formatDuration(longestWait(line))}`
  return printable(`${line.name} (${kind(line.capacity)}): ${held}, ${line.waiters.length} waiting${waiting}`)
}
