/**
 * The lines of the file as a state machine, one method a request. Each runs inside an immediate transaction of its
 * caller.
 */
import { StoreError } from '../../contract/errors.ts'
import { type Entry, isGranted } from '../../contract/driver.ts'
import { capacityError } from '../shared/capacity.ts'
import { type Census, NOBODY } from './census.ts'
import type { Engine, Statement } from './engine.ts'
import {
  type Front,
  Fronts,
  type FrontGate,
  grantedOf,
  keysOf,
  type Outlook,
  STORED_PLACE,
  type StoredPlace,
  weightOf,
} from './front.ts'
import type { Host } from './host.ts'
import type { Mortal } from './dead-process.ts'
import type { Names } from './names.ts'
import { keysIn, Removal } from './removal.ts'

/** A place as the store sees it; the driver adds the time of the request. */
export interface Answer {
  readonly token: number
  readonly ahead: number
  readonly recheckMs: number | null
  readonly wanted: boolean
  readonly granted: boolean
  /** The processes of the places ahead, by their keys in the census; empty once the place is granted. */
  readonly blockers: readonly number[]
}

interface Holder extends StoredPlace {
  readonly id: string
  readonly process: number
}

interface Renewed extends StoredPlace {
  readonly granted: number
}

interface Turned extends StoredPlace {
  readonly turn: number
  readonly broken: number
}

type Weighing = Pick<Entry, 'line' | 'weight' | 'capacity'>

const TOKEN_MAX = 2 ** 53

export class SqliteStore {
  readonly removal: Removal
  readonly #host: Host
  readonly #process: number
  readonly #wallMs: () => number
  readonly #fronts: Fronts
  readonly #names: Names
  readonly #find: Statement
  readonly #insert: Statement
  readonly #setToken: Statement
  readonly #renew: Statement
  readonly #renewLate: Statement
  readonly #grant: Statement
  readonly #shorten: Statement
  readonly #also: Statement
  readonly #rename: Statement
  readonly #insertTombstone: Statement
  readonly #sweep: Statement
  readonly #front: Statement
  readonly #break: Statement
  readonly #isCalm: Statement
  readonly #mine: Statement
  readonly #tie: Statement
  readonly #standing: Statement
  readonly #raise: Statement
  readonly #lower: Statement
  readonly #census: Census
  #sweptAt = 0

  constructor(engine: Engine, census: Census, host: Host, process: number, names: Names, wallMs: () => number) {
    this.#names = names
    this.#census = census
    this.#host = host
    this.#process = process
    this.#wallMs = wallMs
    this.removal = new Removal(engine, census)
    this.#fronts = new Fronts(engine)
    this.#find = engine.prepare('SELECT token FROM places WHERE line = ? AND id = ?')
    this.#insert = engine.prepare(
      `INSERT INTO places
       (line, token, id, weight, capacity, ttl_us, process, entered_at, lapses_at, granted, broken, data, also)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)`,
    )
    this.#setToken = engine.prepare('UPDATE host SET token = ?')
    const renew = 'UPDATE places SET lapses_at = ? + ttl_us WHERE line = ? AND token = ? AND id = ? AND broken = 0'
    this.#renew = engine.prepare(`${renew} AND lapses_at > ? RETURNING granted, ${STORED_PLACE}`)
    this.#renewLate = engine.prepare(`${renew} RETURNING granted, ${STORED_PLACE}`)
    this.#grant = engine.prepare('UPDATE places SET granted = 1 WHERE line = ? AND token = ?')
    this.#shorten = engine.prepare(
      `UPDATE places SET broken = 1, lapses_at = ?, ttl_us = max(ttl_us, ?),
       also = coalesce(also || ',', '') || '${NOBODY}'
       WHERE line = ? AND token = ? AND id = ? AND broken = 0 AND lapses_at > ?`,
    )
    this.#also = engine.prepare('SELECT also FROM places WHERE line = ? AND token = ?')
    this.#rename = engine.prepare(
      `UPDATE places SET id = ?, process = ?, also = ?, data = ?, ttl_us = ?, lapses_at = ?
       WHERE line = ? AND token = ? AND id = ? AND broken = 0 AND lapses_at > ?`,
    )
    this.#insertTombstone = engine.prepare('INSERT OR REPLACE INTO grave VALUES (?, ?)')
    this.#sweep = engine.prepare('DELETE FROM grave WHERE until <= ?')
    this.#front = engine.prepare(
      `SELECT id, process, ${STORED_PLACE} FROM places WHERE line = ? ORDER BY token LIMIT +?`,
    )
    this.#isCalm = engine.prepare(
      'SELECT granted AS calm FROM places WHERE line = ? AND token < ? ORDER BY token DESC LIMIT 1',
    )
    this.#mine = engine.prepare('SELECT token FROM places WHERE line = ? AND process = ?')
    this.#tie = engine.prepare("UPDATE places SET also = coalesce(also || ',', '') || ? WHERE line = ? AND token = ?")
    this.#standing = engine.prepare(`SELECT turn, broken, ${STORED_PLACE} FROM places WHERE line = ? AND id = ?`)
    this.#raise = engine.prepare(
      'UPDATE places SET turn = ?, raised = ?, beside = ?, granted = 0 WHERE line = ? AND token = ?',
    )
    this.#lower = engine.prepare(
      `UPDATE places SET turn = ?, granted = iif(raised IS NULL, granted, 1), raised = NULL, beside = NULL
       WHERE line = ? AND token = ?`,
    )
    this.#break = engine.prepare('UPDATE places SET broken = 1 WHERE line = ? AND token = ?')
  }

  /** null: no room and `wait` is false, or the id is dead. */
  enter(entry: Entry, wait: boolean): Answer | null {
    const now = this.#host.now()
    let gate = this.#gate(entry, now)
    if (gate.count > 0) {
      const token = this.find(entry)
      if (token !== undefined) return this.touch(entry, token)
      if (this.#isStale(entry, gate, now) && this.#clear(entry, gate, now)) gate = this.#gate(entry, now)
      this.#checkCapacity(entry, gate)
    }
    if (gate.deadUntil !== null && gate.deadUntil > now) return null
    const granted = isGranted(entry, gate)
    if (!granted && !wait) return null
    return this.#join(entry, gate, granted, now)
  }

  /** Renews and looks. null: lapsed or left, for good. */
  touch(entry: Entry, token: number): Answer | null {
    const now = this.#host.now()
    let renewed = this.#renew.get(now, entry.line, token, entry.id, now) as Renewed | undefined
    if (renewed === undefined) {
      // The place has lapsed, was broken or is gone; or it lapsed and stays, because what it protects still runs.
      this.removal.purge(entry.line, now)
      renewed = this.#renewLate.get(now, entry.line, token, entry.id) as Renewed | undefined
    }
    return renewed === undefined ? null : this.#look(entry.line, renewed, renewed.granted === 1, now)
  }

  /** Looks without renewing. null: it is not in the file. */
  look(entry: Entry, token: number): Answer | null {
    const place = this.#standing.get(entry.line, entry.id) as Turned | undefined
    return place?.token === token ? this.#look(entry.line, place, false, this.#host.now()) : null
  }

  leave(entry: Entry, token: number | undefined, afterMs: number): void {
    const now = this.#host.now()
    const { line, id } = entry
    const at = token ?? this.find(entry)
    if (at === undefined) {
      this.#addTombstone(entry, now)
    } else if (afterMs > 0) {
      const afterUs = Math.ceil(afterMs * 1e3)
      this.#shorten.run(now + afterUs, afterUs, line, at, id, now)
    } else {
      const left = this.removal.leave(line, at, id)
      if (left !== null) this.removal.settle(line, left.capacity, now)
    }
  }

  /** All or none. The lines are distinct, so that no place changes what another finds. */
  enterAll(entries: readonly Entry[]): Answer[] | null {
    const answers: Answer[] = []
    try {
      for (const entry of entries) {
        const answer = this.enter(entry, false)
        if (answer === null || !isGranted(entry, answer)) return null
        answers.push(answer)
      }
      return answers
    } finally {
      // Also if a line refuses by throwing: other jobs share the transaction, so undo by hand.
      if (answers.length < entries.length) {
        for (const [i, { token }] of answers.entries()) this.leave(entries[i] as Entry, token, 0)
      }
    }
  }

  /**
   * Gives the place another id and makes this process its owner. null: it is gone, or another process owns it by now.
   */
  rename(entry: Entry, id: string): Answer | null {
    const now = this.#host.now()
    const renamed = { ...entry, id }
    const already = this.find(renamed)
    if (already !== undefined) return this.touch(renamed, already)
    const token = this.find(entry)
    if (token === undefined) return null
    const { line, data } = entry
    const { also } = this.#also.get(line, token) as { readonly also: string | null }
    const heir = entry.outlives === true ? `${NOBODY}` : null
    const ttlUs = Math.ceil(entry.ttlMs * 1e3)
    const owner = [id, this.#process, heir, data, ttlUs, now + ttlUs] as const
    const { changes } = this.#rename.run(...owner, line, token, entry.id, now)
    if (Number(changes) === 0) return null
    for (const key of keysIn(also)) this.#census.remove(key)
    this.#addTombstone(entry, now)
    return this.touch(renamed, token)
  }

  /** Gives a granted place another weight, in one step. null: it has lapsed, was broken, or is unknown. */
  reweigh(entry: Entry, turn: number): Answer | null {
    const now = this.#host.now()
    const { line, weight } = entry
    this.removal.purge(line, now)
    const place = this.#standing.get(line, entry.id) as Turned | undefined
    if (place === undefined || place.broken === 1) return null
    const { token } = place
    if (turn > place.turn) {
      if (weight > place.weight) {
        // Places granted now stay granted beside it; nobody else is granted from here on.
        const last = this.#holders(line).at(-1)
        this.#raise.run(turn, weight, Math.max(token, last?.token ?? 0), line, token)
      } else {
        this.#lower.run(turn, line, token)
        this.removal.settle(line, place.capacity, now)
      }
    }
    return this.touch(entry, token)
  }

  break(line: string, atOnce: boolean): number {
    const now = this.#host.now()
    this.removal.purge(line, now)
    const holders = this.#holders(line)
    for (const { id, token, process } of holders) {
      if (atOnce) this.removal.remove(line, token, id)
      else this.#break.run(line, token)
      this.removal.nudge(process, id)
    }
    if (holders[0] !== undefined) this.removal.settle(line, holders[0].capacity, now)
    return holders.length
  }

  /** Ties this process's places of a line to one more process. Returns how many. */
  bind(line: string, who: Omit<Mortal, 'key'>): number {
    const places = this.#mine.all(line, this.#process) as { readonly token: number }[]
    for (const { token } of places) this.#tie.run(`${this.#census.add(who)}`, line, token)
    return places.length
  }

  find(entry: Entry): number | undefined {
    return (this.#find.get(entry.line, entry.id) as { readonly token: number } | undefined)?.token
  }

  /**
   * max(previous + 1, wall clock): so tokens rise even if the clock is set back, and even if a power loss takes the
   * last commits.
   */
  nextToken(last: number): number {
    const token = Math.max(last + 1, Math.floor(this.#wallMs() * 1e3))
    if (!(token < TOKEN_MAX)) {
      throw new StoreError(`sqlite: the next token ${token} would be past 2^53; is the clock of this host right?`)
    }
    this.#setToken.run(token)
    return token
  }

  /** The places at the front whose weights fit together. */
  #holders(line: string): Holder[] {
    const [head] = this.#front.all(line, 1) as Holder[]
    if (head === undefined) return []
    const places = this.#front.all(line, head.capacity) as Holder[]
    return grantedOf(places)
  }

  #gate(entry: Entry, now: number): FrontGate {
    const gate = this.#fronts.gate(entry, now)
    if (gate.boot !== this.#host.boot) {
      // Another kernel has opened the file and found the boot id changed: it counts us as dead.
      throw new StoreError('sqlite: the file was taken over by another host; a SQLite store serves one host only')
    }
    return gate
  }

  #join(entry: Entry, gate: FrontGate, granted: boolean, now: number): Answer {
    const token = this.nextToken(gate.lastToken)
    const { line, id, weight, capacity, data } = entry
    const ttlUs = Math.ceil(entry.ttlMs * 1e3)
    const also = entry.outlives === true ? `${NOBODY}` : null
    const lapsesAt = now + ttlUs
    this.#insert.run(
      line,
      token,
      id,
      weight,
      capacity,
      ttlUs,
      this.#process,
      now,
      lapsesAt,
      granted ? 1 : 0,
      data,
      also,
    )
    if (!granted) this.#tellHolders(line, token, gate)
    return answer(entry, token, gate, false, now)
  }

  /** Who holds is told of the first that waits; those that come later find the holders told. */
  #tellHolders(line: string, token: number, gate: FrontGate): void {
    const inFront = this.#isCalm.get(line, token) as { readonly calm: number } | undefined
    if (inFront?.calm !== 1) return
    for (const process of keysOf(gate)) if (process !== this.#process) this.removal.tellWanted(process, line)
  }

  #look(line: string, place: StoredPlace, knownGranted: boolean, now: number): Answer {
    const { token, capacity } = place
    const entry = { line, weight: weightOf(place), capacity }
    let outlook: Outlook = this.#fronts.outlook(line, place, now)
    if (this.#isStale(entry, outlook, now) && this.#clear(entry, outlook, now)) {
      outlook = this.#fronts.outlook(line, place, now)
    }
    if (!knownGranted && isGranted(entry, outlook)) this.#grant.run(line, token)
    return answer(entry, token, outlook, outlook.wanted === 1, now)
  }

  /** Whether places ahead may be gone in truth: lapsed, or in the way and perhaps dead. */
  #isStale(entry: Weighing, front: Front, now: number): boolean {
    if (front.dueAt === null) return false
    return (
      front.dueAt <= now || !isGranted(entry, front) || front.low !== entry.capacity || front.high !== entry.capacity
    )
  }

  #clear(entry: Weighing, front: Front, now: number): boolean {
    const purged = front.dueAt !== null && front.dueAt <= now && this.removal.purge(entry.line, now)
    const reaped = this.removal.reap(
      keysOf(front).filter((key) => key !== this.#process),
      now,
    )
    return purged || reaped
  }

  #checkCapacity(entry: Entry, front: Front): void {
    if (front.low === null || (front.low === entry.capacity && front.high === entry.capacity)) return
    throw capacityError({ line: this.#names.shown(entry.line), capacity: entry.capacity }, front.low)
  }

  /** If leave overtakes its own delayed enter, that enter must find for one ttl that it is too late. */
  #addTombstone(entry: Entry, now: number): void {
    if (now - this.#sweptAt > 1e6) {
      this.#sweptAt = now
      this.#sweep.run(now)
    }
    this.#insertTombstone.run(entry.id, now + Math.ceil(entry.ttlMs * 1e3))
  }
}

function answer(entry: Weighing, token: number, front: Front, wanted: boolean, now: number): Answer {
  const { ahead, nextAt } = front
  return {
    token,
    ahead,
    recheckMs: ahead === 0 || nextAt === null ? null : (nextAt - now) / 1e3,
    wanted,
    granted: isGranted(entry, front),
    blockers: isGranted(entry, front) ? [] : keysOf(front),
  }
}
