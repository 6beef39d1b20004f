/** Every step that removes places from a line, and wakes those who are granted by it. Runs inside a transaction. */
import { type Census, NOBODY } from './census.ts'
import type { Engine, Statement } from './engine.ts'

/**
 * A message to a process, sent once the transaction is in force. With an id: that place is granted with this token, or,
 * with a null token, must look for itself. With a line: somebody has begun to wait in a line that the process holds.
 */
export type Wakeup =
  | { readonly process: number; readonly id: string; readonly token: number | null }
  | { readonly process: number; readonly line: string }

interface Stood {
  readonly line: string
  readonly token: number
  readonly capacity: number
  readonly process: number
  readonly also: string | null
  readonly broken: number
}

interface Candidate {
  readonly id: string
  readonly token: number
  readonly process: number
  readonly weight: number
  readonly granted: number
  readonly raised: number | null
  readonly lapsed: number
}

/** The first place that is not known to be granted, and what stands ahead of it. */
interface First extends Candidate {
  readonly used: number
}

const CANDIDATE = 'id, token, process, coalesce(raised, weight) AS weight, granted, raised'
const STOOD = 'line, token, capacity, process, also, broken'

export class Removal {
  readonly #census: Census
  readonly #delete: Statement
  readonly #leave: Statement
  readonly #lapsed: Statement
  readonly #ofProcess: Statement
  readonly #first: Statement
  readonly #rest: Statement
  readonly #grant: Statement
  #wakeups: Wakeup[] = []
  #sockets: string[] = []

  constructor(engine: Engine, census: Census) {
    this.#census = census
    this.#delete = engine.prepare(`DELETE FROM places WHERE line = ? AND token = ? AND id = ? RETURNING ${STOOD}`)
    this.#leave = engine.prepare(
      `DELETE FROM places WHERE line = ? AND token = ? AND id = ? AND broken = 0 RETURNING ${STOOD}`,
    )
    this.#lapsed = engine.prepare(`SELECT id, ${STOOD} FROM places WHERE line = ? AND lapses_at <= ?`)
    this.#ofProcess = engine.prepare(`SELECT id, ${STOOD} FROM places WHERE process = ? OR also IS NOT NULL`)
    // A window function could say this in one statement, but SQLite would make a temporary table each time.
    this.#first = engine.prepare(
      `SELECT ${CANDIDATE}, lapses_at <= ? AS lapsed,
         (SELECT coalesce(sum(
            iif(other.raised IS NOT NULL AND other.beside < places.token, other.raised, other.weight)), 0)
          FROM places AS other WHERE other.line = places.line
          AND other.token <= coalesce(places.beside, places.token) AND other.token <> places.token) AS used
       FROM places WHERE line = ? AND token > ? AND (granted = 0 OR lapses_at <= ?) ORDER BY token LIMIT 1`,
    )
    this.#rest = engine.prepare(
      `SELECT ${CANDIDATE}, lapses_at <= ? AS lapsed FROM places WHERE line = ? AND token > ? ORDER BY token LIMIT +?`,
    )
    this.#grant = engine.prepare('UPDATE places SET granted = 1 WHERE line = ? AND token = ?')
  }

  /** Removes one place; null: it was not there. The caller settles the line. */
  remove(line: string, token: number, id: string): { readonly capacity: number } | null {
    return this.#removed(this.#delete.get(line, token, id) as Stood | undefined)
  }

  /** The same, but a broken place stays until its lease has run out: its holder's work may still go on. */
  leave(line: string, token: number, id: string): { readonly capacity: number } | null {
    return this.#removed(this.#leave.get(line, token, id) as Stood | undefined)
  }

  #removed(stood: Stood | undefined): { readonly capacity: number } | null {
    if (stood === undefined) return null
    if (stood.also !== null) for (const key of keysIn(stood.also)) this.#census.remove(key)
    return stood
  }

  /** Removes what has lapsed: a place counts as gone only once it is deleted. False: there was nothing. */
  purge(line: string, now: number): boolean {
    let capacity: number | null = null
    for (const place of this.#lapsed.all(line, now) as (Stood & { readonly id: string })[]) {
      // The wrapper has ended and can't renew, but the command that it ran goes on: the place is still in use.
      const others = keysIn(place.also).filter((key) => key !== NOBODY)
      if (place.broken === 0 && this.#anyLives(others)) continue
      // Count only places that were really deleted. Another program may have written an id with a NUL in it, which the
      // engine does not find again; `settle` would come back to such a place for ever.
      if (this.remove(line, place.token, place.id) !== null) capacity = place.capacity
    }
    if (capacity === null) return false
    this.settle(line, capacity, now)
    return true
  }

  /** Removes the places of those given processes that are dead, in every line. */
  reap(among: Iterable<number>, now: number): boolean {
    const lines = new Map<string, number>()
    for (const key of among) {
      if (!this.#census.isDead(key)) continue
      let inUse = false
      for (const place of this.#ofProcess.all(key) as (Stood & { readonly id: string })[]) {
        if (this.#anyLives([place.process, ...keysIn(place.also)])) {
          inUse ||= place.process === key || keysIn(place.also).includes(key)
          continue
        }
        this.remove(place.line, place.token, place.id)
        lines.set(place.line, place.capacity)
      }
      if (!inUse) this.#bury(key)
    }
    for (const [line, capacity] of lines) this.settle(line, capacity, now)
    return lines.size > 0
  }

  /** After places have gone: marks who is granted by it, to be woken after the commit. */
  settle(line: string, capacity: number, now: number): void {
    let first = this.#first.get(now, line, 0, now) as First | undefined
    while (first?.lapsed === 1) {
      if (this.purge(line, now)) return
      // It has lapsed, and stays because what it protects still runs: go on to the next.
      first = this.#first.get(now, line, first.token, now) as First | undefined
    }
    if (first === undefined || first.used + first.weight > capacity) return
    this.#grantTo(line, first)
    // Places behind a raised place were counted as ahead of it: from here on the sum is another.
    if (first.raised !== null) {
      this.settle(line, capacity, now)
      return
    }
    let room = capacity - first.used - first.weight
    if (room === 0) return
    for (const place of this.#rest.all(now, line, first.token, room) as Candidate[]) {
      if (place.lapsed === 1 && this.purge(line, now)) return
      room -= place.weight
      if (room < 0) return
      if (place.granted === 0) this.#grantTo(line, place)
    }
  }

  /** Makes a place look for itself. */
  nudge(process: number, id: string): void {
    this.#wakeups.push({ process, id, token: null })
  }

  /** Tells a process that somebody waits behind its place: a process keeps a lock only while nobody waits. */
  tellWanted(process: number, line: string): void {
    this.#wakeups.push({ process, line })
  }

  /** What to do once the transaction is in force; after a rollback it is thrown away. */
  drain(): { readonly wakeups: readonly Wakeup[]; readonly sockets: readonly string[] } {
    const drained = { wakeups: this.#wakeups, sockets: this.#sockets }
    if (drained.wakeups.length > 0) this.#wakeups = []
    if (drained.sockets.length > 0) this.#sockets = []
    return drained
  }

  #grantTo(line: string, { id, token, process }: Candidate): void {
    this.#grant.run(line, token)
    this.#wakeups.push({ process, id, token })
  }

  #anyLives(among: readonly number[]): boolean {
    return among.some((key) => !this.#census.isDead(key))
  }

  #bury(key: number): void {
    const who = this.#census.find(key)
    if (who === undefined) return
    this.#census.remove(key)
    if (who.socket !== '') this.#sockets.push(who.socket)
  }
}

/** The keys in a list with commas. */
export function keysIn(list: string | null): number[] {
  return list === null ? [] : list.split(',').map(Number)
}
