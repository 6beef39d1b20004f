/** The MySQL and MariaDB driver: one procedure call, one round trip, for each of enter, leave and touch; waiters poll together. */
import { instant } from '../../core/validity.ts'
import type {
  CellView,
  Change,
  Demand,
  Driver,
  Entry,
  Instant,
  LineView,
  Place,
  Stop,
  Taken,
  Traits,
  Wake,
} from '../../driver.ts'
import { system } from '../../system.ts'
import { CalmLines } from '../sql/calm-lines.ts'
import { hex, unhex } from '../sql/hex.ts'
import { linesOf } from '../sql/lines.ts'
import { capacityError, readPlace } from '../sql/place.ts'
import { Poller, type PollRange } from '../sql/poller.ts'
import { Renewals } from '../sql/renewals.ts'
import { SWEEP_IDLE_US, SWEEP_ROWS_MAX, Sweeper } from '../sql/sweeper.ts'
import { demandValues, readTaken } from '../sql/taken.ts'
import { sqlTraits } from '../sql/traits.ts'
import { Turns } from '../sql/turns.ts'
import { Watches } from '../sql/watches.ts'
import { Calls, us } from './calls.ts'
import { Doorbell, EAR_SPAN_MS } from './doorbell.ts'
import { toStoreError } from './failure.ts'
import type { Names } from './names.ts'
import type { Seat } from './reply.ts'
import { setUp } from './schema.ts'
import type { MysqlSession } from './session.ts'

export interface DriverParts {
  readonly session: MysqlSession
  readonly names: Names
  readonly timeoutMs: number
  readonly poll: PollRange
  /** Whether waiters are rung for, where the session has connections for it. */
  readonly doorbell: boolean
}

export class MysqlDriver implements Driver {
  readonly name = 'mysql'
  readonly traits: Traits
  readonly #session: MysqlSession
  readonly #names: Names
  readonly #calls: Calls
  readonly #watches = new Watches()
  readonly #turns = new Turns()
  readonly #calm = new CalmLines()
  readonly #renewals = new Renewals((entries) => this.#touch(entries))
  readonly #poller: Poller
  readonly #stamps = new Map<string, string>()
  readonly #sweeper: Sweeper
  readonly #doorbell: Doorbell | null
  /** The places in a crowd, and who holds their bells. */
  readonly #bells = new Map<string, Seat>()
  #closing: Promise<void> | null = null

  constructor({ session, names, timeoutMs, poll, doorbell }: DriverParts) {
    this.#session = session
    this.#names = names
    this.#calls = new Calls(session, names)
    const watches = this.#watches
    this.#doorbell =
      session.ear === null || !doorbell
        ? null
        : new Doorbell({
            watches,
            open: session.ear,
            sql: this.#calls.text('ear', 3),
            timeoutMs,
            unattended: () => this.#poller.kick(),
            arguments: (line, id) => [Buffer.from(line), Buffer.from(id, 'hex'), us(EAR_SPAN_MS)],
          })
    this.#poller = new Poller(poll, { needed: () => this.#isPollNeeded(), poll: () => this.#poll() })
    watches.onDemand = () => {
      this.#doorbell?.demand()
      if (this.#isPollNeeded()) this.#poller.kick()
    }
    this.#sweeper = new Sweeper(async () => {
      const { rows } = await this.#calls.call('sweep', [SWEEP_IDLE_US, SWEEP_ROWS_MAX])
      return Number(rows[0]?.[0]) >= SWEEP_ROWS_MAX
    })
    this.traits = sqlTraits(this.#doorbell !== null)
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#turns.take(entry.line, () => this.#enter(entry, wait))
  }

  async #enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const { line } = entry
    const since = instant(system)
    this.#sweeper.used()
    if (this.#calm.has(line)) {
      const token = await this.#calls.enterShort(entry)
      if (token !== null) return { token, ahead: 0, recheckMs: null, since, wanted: false }
      this.#calm.note(line, false)
      return this.#enterCrowd(entry, wait, instant(system))
    }
    return this.#enterCrowd(entry, wait, since)
  }

  async #enterCrowd(entry: Entry, wait: boolean, since: Instant): Promise<Place | null> {
    const { line, id, weight, capacity, ttlMs, data } = entry
    const bell = this.#doorbell === null ? 0 : 1
    const values = [Buffer.from(line), Buffer.from(id, 'hex'), weight, capacity, us(ttlMs), data, wait ? 1 : 0, bell]
    const { rows, seat } = await this.#calls.call('enter', values)
    const answer = (rows[0]?.[0] ?? null) as string | null
    if (answer?.startsWith('capacity ')) throw capacityError(entry, answer)
    const place = readPlace(answer, since)
    // Only in a crowd, and only where it entered first.
    if (bell === 1 && seat !== null && place !== null && place.ahead > 0 && !this.#bells.has(id))
      this.#bells.set(id, seat)
    this.#answered(entry, place)
    return place
  }

  #answered(entry: Entry, place: Place | null): void {
    this.#watches.answered(entry, place)
    if (place !== null) this.#calm.note(entry.line, place.ahead === 0 && !place.wanted)
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const since = instant(system)
    const batch = entries.map(({ line, id, weight, capacity, ttlMs, data }) => {
      return [hex(line), id, weight, capacity, Number(us(ttlMs)), data]
    })
    const { rows } = await this.#calls.call('enter_all', [JSON.stringify(batch)])
    this.#sweeper.used()
    const answer = (rows[0]?.[0] ?? null) as string | null
    if (answer === null) return null
    if (answer.startsWith('capacity ')) {
      const [found = '', i] = answer.split(',')
      throw capacityError(entries[Number(i) - 1] as Entry, found)
    }
    const answers = readAnswers(answer)
    return entries.map((_, i) => readPlace(answers.get(i) ?? null, since) as Place)
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const since = instant(system)
    const { line, ttlMs, data } = entry
    const values = [Buffer.from(line), Buffer.from(entry.id, 'hex'), Buffer.from(id, 'hex'), us(ttlMs), data]
    const { rows } = await this.#calls.call('rename', values)
    const place = readPlace((rows[0]?.[0] ?? null) as string | null, since)
    this.#answered({ ...entry, id }, place)
    return place
  }

  async take(key: string, demand: Demand): Promise<Taken> {
    this.#sweeper.used()
    const { rows } = await this.#calls.call('take', [Buffer.from(key), ...demandValues(demand)])
    return readTaken(rows[0]?.[0], demand)
  }

  touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return this.#renewals.touch(entries)
  }

  async #touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(system)
    const { rows } = await this.#calls.call('touch', [batch(entries.map(({ line, id }) => [id, line]))])
    const answers = readAnswers((rows[0]?.[0] ?? '') as string)
    return entries.map((entry, i) => {
      const place = readPlace(answers.get(i) ?? null, since)
      this.#watches.answered(entry, place)
      if (place === null) this.#silence(entry.id)
      return place
    })
  }

  async leave({ line, id, ttlMs }: Entry, afterMs = 0): Promise<void> {
    const [name, bytes] = [Buffer.from(line), Buffer.from(id, 'hex')]
    if (afterMs === 0 && this.#calm.has(line)) {
      if (await this.#calls.leaveShort(name, bytes)) return
      this.#calm.note(line, false)
    }
    const seat = this.#bells.get(id)
    this.#bells.delete(id)
    const rings = seat?.isOpen === true ? 1 : 0
    await this.#calls.call('leave', [name, bytes, us(ttlMs), us(afterMs), rings], seat)
  }

  /** A place that is gone has no use for its bell. */
  #silence(id: string): void {
    const seat = this.#bells.get(id)
    if (seat === undefined) return
    this.#bells.delete(id)
    // If that fails the session is gone, and the bell with it.
    if (seat.isOpen) this.#session.run('DO RELEASE_LOCK(?)', [`holdfast.${id.toUpperCase()}`], seat).catch(nothing)
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    const stop = this.#watches.watch(line, id, wake)
    return id === null ? this.#observe(line, stop) : stop
  }

  /** What the line looks like now is what a change is told from. */
  async #observe(line: string, stop: Stop): Promise<Stop> {
    try {
      const stamps = await this.#readStamps([line])
      this.#stamps.set(line, stamps.get(line) ?? '')
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const { rows } = await this.#calls.call('list', [Buffer.from(prefix)])
    yield* linesOf(rows)
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    const { version = 0n, next = null, ttlMs = 0, nonce = '' } = change ?? {}
    const values = [Buffer.from(key), change === null ? 0 : 1, String(version), next, us(ttlMs), Buffer.from(nonce)]
    const { rows } = await this.#calls.call('swap', values)
    const [found, value, wroteBy] = rows[0] as [string, string | null, string | null]
    return { version: BigInt(found), value, nonce: wroteBy }
  }

  async break(line: string, now: boolean): Promise<number> {
    const { rows } = await this.#calls.call('break', [Buffer.from(line), now ? 1 : 0])
    return Number(rows[0]?.[0])
  }

  async setup(): Promise<void> {
    try {
      await setUp(this.#session, this.#names)
    } catch (error) {
      throw toStoreError(error)
    }
  }

  close(): Promise<void> {
    this.#sweeper.stop()
    this.#poller.stop()
    this.#doorbell?.close()
    this.#closing ??= this.#session.close()
    return this.#closing
  }

  /** The lines that nobody listens to. */
  #unattended(): [id: string, line: string][] {
    const waiting: [string, string][] = []
    for (const [line, ids] of this.#watches.waitingIn) {
      if (this.#doorbell?.attends(line) !== true) for (const id of ids) waiting.push([id, line])
    }
    return waiting
  }

  #isPollNeeded(): boolean {
    const { waitingIn, observed } = this.#watches
    if (observed.length > 0) return true
    for (const line of waitingIn.keys()) if (this.#doorbell?.attends(line) !== true) return true
    return false
  }

  async #poll(): Promise<boolean> {
    let found = false
    this.#doorbell?.demand()
    const waiting = this.#unattended()
    if (waiting.length > 0) {
      for (const [id] of (await this.#calls.call('poll', [batch(waiting)])).rows) {
        found = true
        this.#watches.wake(String(id))
      }
    }
    const lines = this.#watches.observed
    if (lines.length === 0) this.#stamps.clear()
    else {
      const stamps = await this.#readStamps(lines)
      for (const line of lines) {
        const stamp = stamps.get(line) ?? ''
        if (this.#stamps.get(line) === stamp) continue
        found = true
        this.#stamps.set(line, stamp)
        this.#watches.changed(line)
      }
    }
    return found
  }

  async #readStamps(lines: readonly string[]): Promise<Map<string, string>> {
    const { rows } = await this.#calls.call('stamps', [JSON.stringify(lines.map(hex))])
    return new Map(rows.map(([name, stamp]) => [unhex(name), String(stamp)]))
  }
}

function nothing(): void {}

/** `i:answer;` for each, i from 1. */
function readAnswers(text: string): Map<number, string> {
  const answers = new Map<number, string>()
  for (const part of text.split(';')) {
    const colon = part.indexOf(':')
    if (colon > 0) answers.set(Number(part.slice(0, colon)) - 1, part.slice(colon + 1))
  }
  return answers
}

/** Pairs of id and line as the procedures take them: JSON of [line, id], both hex. */
function batch(pairs: readonly (readonly [id: string, line: string])[]): string {
  return JSON.stringify(pairs.map(([id, line]) => [hex(line), id]))
}
