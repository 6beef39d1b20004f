/** Every step that takes places out of a line, and tells those who are granted by it. Runs inside a transaction. */
import { type Census, NOBODY } from './census.ts'
import type { Engine, Statement } from './engine.ts'

/**
 * A process to be told once the transaction is in force. A place of its own: granted with this token, or, with null,
 * to be looked at. Without a place: somebody has begun to wait in a line that it holds.
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

/** The first that is not known to be granted, and what stands in front of it. */
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
    // A window function would say it in one statement, and make a temporary table each time.
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

  /** Takes one place out; null: it was not there. The caller settles the line. */
  remove(line: string, token: number, id: string): { readonly capacity: number } | null {
    return this.#removed(this.#delete.get(line, token, id) as Stood | undefined)
  }

  /** The same, but a broken place stays until its lease has run out: what its holder was doing may still go on. */
  leave(line: string, token: number, id: string): { readonly capacity: number } | null {
    return this.#removed(this.#leave.get(line, token, id) as Stood | undefined)
  }

  #removed(stood: Stood | undefined): { readonly capacity: number } | null {
    if (stood === undefined) return null
    if (stood.also !== null) for (const key of keysIn(stood.also)) this.#census.remove(key)
    return stood
  }

  /** Takes out what has lapsed: counted as gone only once it is deleted. False: there was nothing. */
  purge(line: string, now: number): boolean {
    let capacity: number | null = null
    for (const place of this.#lapsed.all(line, now) as (Stood & { readonly id: string })[]) {
      // The wrapper is gone and can't renew, but the command that it ran goes on: the place is still in use.
      const others = keysIn(place.also).filter((key) => key !== NOBODY)
      if (place.broken === 0 && this.#anyLives(others)) continue
      // Only what is gone: with an id that the engine does not find again (another program wrote it, with a NUL in it),
      // `settle` would come back to this place for ever.
      if (this.remove(line, place.token, place.id) !== null) capacity = place.capacity
    }
    if (capacity === null) return false
    this.settle(line, capacity, now)
    return true
  }

  /** Takes out the places of those among the given processes that are dead, in every line. */
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

  /** After places have gone: marks who is granted by it, to be told after the commit. */
  settle(line: string, capacity: number, now: number): void {
    let first = this.#first.get(now, line, 0, now) as First | undefined
    while (first?.lapsed === 1) {
      if (this.purge(line, now)) return
      // Lapsed and kept, because what it protects still runs: on to the next.
      first = this.#first.get(now, line, first.token, now) as First | undefined
    }
    if (first === undefined || first.used + first.weight > capacity) return
    this.#grantTo(line, first)
    // Who stands behind a raised place was counted in front of it: from here it is another sum.
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

  /** Lets a place look for itself. */
  nudge(process: number, id: string): void {
    this.#wakeups.push({ process, id, token: null })
  }

  /** Lets a process know that somebody waits behind it: perhaps it keeps the line only because nobody does. */
  tellWanted(process: number, line: string): void {
    this.#wakeups.push({ process, line })
  }

  /** What is to be done once the transaction is in force; after a rollback it is thrown away. */
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
