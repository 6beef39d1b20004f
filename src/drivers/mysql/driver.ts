/** The MySQL and MariaDB driver: one procedure call, one round trip, for each of enter, leave and touch; waiters poll together. */
import { CapacityMismatchError } from '../../core/errors.ts'
import { instant } from '../../core/validity.ts'
import type { CellView, Change, Driver, Entry, LineView, Place, Stop, Traits, Wake } from '../../driver.ts'
import { system } from '../../system.ts'
import { linesOf } from '../sql/lines.ts'
import { readPlace, US } from '../sql/place.ts'
import { Poller, type PollRange } from '../sql/poller.ts'
import { Sweeper } from '../sql/sweeper.ts'
import { Turns } from '../sql/turns.ts'
import { Watches } from '../sql/watches.ts'
import { isSchemaMissing, isVictim, schemaError, toStoreError } from './failure.ts'
import type { Names } from './names.ts'
import { SCHEMA_VERSION, schemaVersion, setUp } from './schema.ts'
import type { MysqlSession, Value } from './session.ts'

const TRAITS: Traits = Object.freeze({
  fair: true,
  fenced: true,
  counting: true,
  push: 'hint',
  ttlMsMin: 10,
  lingers: true,
  scope: 'network',
  safety:
    "Holds while one primary keeps its data: asynchronous commit or replication can lose acknowledged grants in a failover, and a step of the server's clock lapses or prolongs leases.",
})
const SWEEP_IDLE_US = 600_000_000
const SWEEP_ROWS_MAX = 1_000
const VICTIM_TRIES = 10

export class MysqlDriver implements Driver {
  readonly name = 'mysql'
  readonly traits: Traits = TRAITS
  readonly #session: MysqlSession
  readonly #names: Names
  readonly #watches = new Watches()
  readonly #turns = new Turns()
  readonly #poller: Poller
  readonly #stamps = new Map<string, string>()
  readonly #sweeper: Sweeper
  readonly #calls = new Map<string, string>()
  #closing: Promise<void> | null = null

  constructor(session: MysqlSession, names: Names, poll: PollRange) {
    this.#session = session
    this.#names = names
    const watches = this.#watches
    this.#poller = new Poller(poll, { needed: () => !watches.isIdle, poll: () => this.#poll() })
    watches.onDemand = () => this.#poller.kick()
    this.#sweeper = new Sweeper(async () => {
      const [row] = await this.#call('sweep', [SWEEP_IDLE_US, SWEEP_ROWS_MAX])
      return Number(row?.[0]) >= SWEEP_ROWS_MAX
    })
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#turns.take(entry.line, () => this.#enter(entry, wait))
  }

  async #enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const since = instant(system)
    const { line, id, weight, capacity, ttlMs, data } = entry
    const values = [Buffer.from(line), Buffer.from(id, 'hex'), weight, capacity, us(ttlMs), data, wait ? 1 : 0]
    const [row] = await this.#call('enter', values)
    this.#sweeper.used()
    const answer = (row?.[0] ?? null) as string | null
    if (answer?.startsWith('capacity ')) {
      throw new CapacityMismatchError(
        `line ${JSON.stringify(line)} has ${answer} while it is in use, asked for ${capacity}`,
        { line },
      )
    }
    const place = readPlace(answer, since)
    this.#watches.answered(entry, place)
    return place
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(system)
    const [row] = await this.#call('touch', [batch(entries.map(({ line, id }) => [id, line]))])
    const answers = new Map<number, string>()
    for (const part of ((row?.[0] ?? '') as string).split(';')) {
      const colon = part.indexOf(':')
      if (colon > 0) answers.set(Number(part.slice(0, colon)) - 1, part.slice(colon + 1))
    }
    return entries.map((entry, i) => {
      const place = readPlace(answers.get(i) ?? null, since)
      this.#watches.answered(entry, place)
      return place
    })
  }

  async leave({ line, id, ttlMs }: Entry, afterMs = 0): Promise<void> {
    await this.#call('leave', [Buffer.from(line), Buffer.from(id, 'hex'), us(ttlMs), us(afterMs)])
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
    const rows = await this.#call('list', [Buffer.from(prefix)])
    yield* linesOf(
      rows.map(([name, capacity, token, weight, age, left, data]) => ({
        name: unhex(name),
        capacity: Number(capacity),
        token: BigInt(String(token)),
        weight: Number(weight),
        data: String(data),
        ageMs: Number(age) / US,
        leftMs: Number(left) / US,
      })),
    )
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    const { version = 0n, next = null, ttlMs = 0, nonce = '' } = change ?? {}
    const values = [Buffer.from(key), change === null ? 0 : 1, String(version), next, us(ttlMs), Buffer.from(nonce)]
    const [row] = await this.#call('swap', values)
    const [found, value, wroteBy] = row as [string, string | null, string | null]
    return { version: BigInt(found), value, nonce: wroteBy }
  }

  async break(line: string, now: boolean): Promise<number> {
    const [row] = await this.#call('break', [Buffer.from(line), now ? 1 : 0])
    return Number(row?.[0])
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
    this.#closing ??= this.#session.close()
    return this.#closing
  }

  async #poll(): Promise<boolean> {
    let found = false
    if (this.#watches.waiting.size > 0) {
      for (const [id] of await this.#call('poll', [batch([...this.#watches.waiting])])) {
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
    const rows = await this.#call('stamps', [JSON.stringify(lines.map(hex))])
    return new Map(rows.map(([name, stamp]) => [unhex(name), String(stamp)]))
  }

  /** One round trip. A deadlock's victim was rolled back as a whole, and is sent again. */
  async #call(name: string, values: Value[]): Promise<unknown[][]> {
    let sql = this.#calls.get(name)
    if (sql === undefined) {
      sql = this.#names.render(`CALL @${name}_v${SCHEMA_VERSION}(${values.map(() => '?').join(', ')})`)
      this.#calls.set(name, sql)
    }
    for (let tries = 1; ; tries++) {
      try {
        return await this.#session.run(sql, values)
      } catch (error) {
        if (isVictim(error) && tries < VICTIM_TRIES) continue
        throw isSchemaMissing(error) ? await this.#schemaError(error) : toStoreError(error)
      }
    }
  }

  async #schemaError(cause: unknown): Promise<Error> {
    try {
      return schemaError(await schemaVersion(this.#session, this.#names), SCHEMA_VERSION, this.#names, cause)
    } catch (error) {
      return toStoreError(error)
    }
  }
}

/** Pairs of id and line as the procedures take them: JSON of [line, id], both hex. */
function batch(pairs: readonly (readonly [id: string, line: string])[]): string {
  return JSON.stringify(pairs.map(([id, line]) => [hex(line), id]))
}

/** As text: a client library would send a number as a double. */
function us(ms: number): string {
  return String(Math.round(ms * US))
}

function hex(name: string): string {
  return Buffer.from(name).toString('hex')
}

function unhex(text: unknown): string {
  return Buffer.from(String(text), 'hex').toString()
}
