/**
 * The whole store as a state machine: lines, cells, dead ids. It has no clock of its own: each request brings the
 * store's time, so that the same code serves the memory driver and the simulator.
 */
import type { Entry } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'
import { Tombstones } from '../shared/tombstones.ts'
import { Cells } from './cells.ts'
import { MemoryLine, type MemoryPlace } from './line.ts'

/** A place as the store sees it; the driver adds the time of the request. */
export interface Answer {
  readonly token: bigint
  readonly ahead: number
  readonly recheckMs: number | null
  readonly wanted: boolean
}

/** Hears after each step which places have become granted, which were put out, and that the line has changed. */
export interface StoreListener {
  granted(place: MemoryPlace): void
  broken(place: MemoryPlace): void
  changed(line: string): void
}

const IDLE_LINES_MAX = 128

export class MemoryStore {
  readonly cells: Cells = new Cells(() => ++this.#counter)
  readonly #listener: StoreListener
  readonly #floor: (now: number) => bigint
  readonly #lines = new Map<string, MemoryLine>()
  readonly #places = new Map<string, MemoryPlace>()
  /** Ids that left before they entered, and until when a late enter of theirs must be refused. */
  readonly #tombstones = new Tombstones()
  /** One counter for all lines: so tokens rise across an empty line, too, and nothing of that line need be kept. */
  #counter = 0n
  /** How many lines are empty. The store keeps them for a while, because most are used again soon. */
  #idle = 0

  /** No token is below `floor` of the present time, so the tokens of a restarted or promoted store still rise. */
  constructor(listener: StoreListener, floor: (now: number) => bigint = () => 0n) {
    this.#listener = listener
    this.#floor = floor
  }

  enter(entry: Entry, wait: boolean, now: number): Answer | null {
    const line = this.#lines.get(entry.line)
    if (line !== undefined) this.#purge(line, now)
    const present = this.#places.get(entry.id)
    if (present !== undefined) return this.#renew(present, now)
    if (this.#tombstones.find(entry.id, now) === true) return null
    return this.#join(entry, wait, now)
  }

  touch(entry: Entry, now: number): Answer | null {
    const place = this.#places.get(entry.id)
    if (place === undefined) return null
    // Judge by the line as it is now: this removes a lapsed place, which never comes back.
    this.#purge(place.line, now)
    return this.#places.get(entry.id) === place ? this.#renew(place, now) : null
  }

  leave(entry: Entry, afterMs: number, now: number): void {
    const place = this.#places.get(entry.id)
    if (place === undefined) {
      this.#tombstones.add(entry, now, true)
      return
    }
    this.#purge(place.line, now)
    // Schedule: A is broken and woken; A leaves, and its work goes on for a moment. B must not be served before A's
    // lease has run out.
    if (this.#places.get(entry.id) !== place || place.broken) return
    if (afterMs > 0) {
      place.broken = true
      place.lapsesAt = now + afterMs
      place.line.lapsesFrom = Math.min(place.line.lapsesFrom, place.lapsesAt)
      return
    }
    this.#remove(place)
    this.#settle(place.line)
  }

  /** All or none. The lines are distinct, so that no place changes what another finds. */
  enterAll(entries: readonly Entry[], now: number): Answer[] | null {
    const answers: Answer[] = []
    try {
      for (const entry of entries) {
        const answer = this.enter(entry, false, now)
        if (answer === null || answer.ahead + entry.weight > entry.capacity) return null
        answers.push(answer)
      }
      return answers
    } finally {
      // Also if a line refuses by throwing: the places entered before that must go again.
      if (answers.length < entries.length) {
        for (const entered of entries.slice(0, answers.length)) this.leave(entered, 0, now)
      }
    }
  }

  /** From now on the old id is dead, and never names a place again. */
  rename(entry: Entry, id: string, now: number): Answer | null {
    const place = this.#places.get(id) ?? this.#places.get(entry.id)
    if (place === undefined) return null
    this.#purge(place.line, now)
    if (place.broken || this.#places.get(place.id) !== place) return null
    if (place.id !== id) {
      this.#places.delete(place.id)
      this.#tombstones.add({ id: place.id, ttlMs: entry.ttlMs }, now, true)
      place.id = id
      place.data = entry.data
      place.ttlMs = entry.ttlMs
      this.#places.set(id, place)
    }
    return this.#renew(place, now)
  }

  reweigh(entry: Entry, turn: number, now: number): Answer | null {
    const place = this.#places.get(entry.id)
    if (place === undefined) return null
    const { line } = place
    this.#purge(line, now)
    if (place.broken || this.#places.get(entry.id) !== place) return null
    if (turn > place.turn) {
      place.turn = turn
      if (entry.weight > place.weight) {
        line.raised = { place, weight: entry.weight, beside: line.granted().at(-1)?.token ?? place.token }
        place.granted = line.inFront(place).ahead === 0
      } else if (line.raised?.place === place) {
        line.raised = null
        place.granted = true
      }
      this.#settle(line)
    }
    return this.#renew(place, now)
  }

  break(name: string, atOnce: boolean, now: number): number {
    const line = this.#lines.get(name)
    if (line === undefined) return 0
    this.#purge(line, now)
    const holders = line.granted()
    for (const place of holders) {
      place.broken = true
      if (atOnce) this.#remove(place)
      this.#listener.broken(place)
    }
    if (holders.length > 0) this.#settle(line)
    return holders.length
  }

  /** The lines with somebody in them, in the order of their names. */
  lines(prefix: string, now: number): MemoryLine[] {
    const found = [...this.#lines.values()].filter((line) => line.name.startsWith(prefix))
    for (const line of found) this.#purge(line, now)
    return found.filter((line) => line.head !== null).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  #join(entry: Entry, wait: boolean, now: number): Answer | null {
    let line = this.#lines.get(entry.line)
    if (line === undefined || (line.head === null && line.capacity !== entry.capacity)) {
      line = new MemoryLine(entry.line, entry.capacity)
    } else if (line.capacity !== entry.capacity) {
      throw capacityError(entry, line.capacity)
    }
    const place: MemoryPlace = {
      id: entry.id,
      token: this.#peekToken(now),
      weight: entry.weight,
      ttlMs: entry.ttlMs,
      data: entry.data,
      line,
      enteredAt: now,
      lapsesAt: now + entry.ttlMs,
      granted: false,
      broken: false,
      turn: 0,
      prev: null,
      next: null,
    }
    const { ahead, lapsesAt } = line.inFront(place)
    place.granted = ahead + place.weight <= line.capacity
    if (!place.granted && !wait) return null
    this.#counter = place.token
    if (line.head === null) this.#open(line)
    line.append(place)
    this.#places.set(place.id, place)
    this.#listener.changed(line.name)
    return { token: place.token, ahead, recheckMs: ahead === 0 ? null : lapsesAt - now, wanted: false }
  }

  #peekToken(now: number): bigint {
    const [next, floor] = [this.#counter + 1n, this.#floor(now)]
    return next > floor ? next : floor
  }

  #open(line: MemoryLine): void {
    if (this.#lines.has(line.name)) this.#idle--
    if (this.#lines.get(line.name) !== line) this.#lines.set(line.name, line)
    if (this.#idle <= IDLE_LINES_MAX) return
    this.#idle = 0
    for (const other of this.#lines.values()) {
      if (other.head === null && other !== line) this.#lines.delete(other.name)
    }
  }

  #renew(place: MemoryPlace, now: number): Answer | null {
    if (place.broken) return null
    place.lapsesAt = now + place.ttlMs
    const { ahead, lapsesAt } = place.line.inFront(place)
    if (ahead + place.line.weightOf(place) <= place.line.capacity) place.granted = true
    return {
      token: place.token,
      ahead,
      recheckMs: ahead === 0 ? null : lapsesAt - now,
      wanted: place.line.isAwaitedBesides(place),
    }
  }

  #purge(line: MemoryLine, now: number): void {
    if (now < line.lapsesFrom) return
    let lapsesFrom = Number.POSITIVE_INFINITY
    let removed = false
    for (let place = line.head, next: MemoryPlace | null; place !== null; place = next) {
      next = place.next
      if (place.lapsesAt <= now) {
        this.#remove(place)
        removed = true
      } else {
        lapsesFrom = Math.min(lapsesFrom, place.lapsesAt)
      }
    }
    line.lapsesFrom = lapsesFrom
    // Every step that removes places wakes the newly granted, not only leave.
    if (removed) this.#settle(line)
  }

  #remove(place: MemoryPlace): void {
    place.line.remove(place)
    this.#places.delete(place.id)
  }

  #settle(line: MemoryLine): void {
    if (line.head === null) this.#idle++
    else for (const place of line.newlyGranted()) this.#listener.granted(place)
    this.#listener.changed(line.name)
  }
}
