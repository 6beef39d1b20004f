/** The PostgreSQL driver: one round trip for each of enter, leave and touch; waiters are woken by NOTIFY. */
import { CapacityMismatchError } from '../../core/errors.ts'
import { instant } from '../../core/validity.ts'
import type { CellView, Change, Driver, Entry, LineView, Place, Stop, Traits, Wake } from '../../driver.ts'
import { system } from '../../system.ts'
import { linesOf } from '../sql/lines.ts'
import { readPlace, US } from '../sql/place.ts'
import type { PollRange } from '../sql/poller.ts'
import { Sweeper } from '../sql/sweeper.ts'
import { Turns } from '../sql/turns.ts'
import { Watches } from '../sql/watches.ts'
import { toStoreError } from './failure.ts'
import { Hub, OBSERVE_MS } from './hub.ts'
import type { Names } from './names.ts'
import { hex, Queries, unhex } from './queries.ts'
import { setUp } from './schema.ts'
import type { Session } from './session.ts'

export interface DriverParts {
  readonly session: Session
  readonly names: Names
  readonly timeoutMs: number
  /** Whether the session can hear. */
  readonly hears: boolean
  readonly poll: PollRange
}

const SAFETY =
  "Holds while one primary keeps its data: asynchronous commit or replication can lose acknowledged grants in a failover, and a step of the server's clock lapses or prolongs leases."
const SWEEP_IDLE_US = 600_000_000
const SWEEP_ROWS_MAX = 1_000

export class PostgresDriver implements Driver {
  readonly name = 'postgres'
  readonly traits: Traits
  readonly #session: Session
  readonly #names: Names
  readonly #queries: Queries
  readonly #watches = new Watches()
  readonly #turns = new Turns()
  readonly #hub: Hub
  readonly #inbox: string | null
  readonly #timeoutMs: number
  readonly #sweeper: Sweeper
  #closing: Promise<void> | null = null

  constructor({ session, names, timeoutMs, hears, poll }: DriverParts) {
    this.#session = session
    this.#names = names
    this.#timeoutMs = timeoutMs
    this.#queries = new Queries(session, names, timeoutMs)
    const inbox = `holdfast_${system.randomId()}`
    this.#inbox = hears ? inbox : null
    this.#hub = new Hub(inbox, names.channel, this.#watches, this.#hubQueries(), poll)
    this.traits = Object.freeze({
      fair: true,
      fenced: true,
      counting: true,
      push: hears ? 'answer' : 'hint',
      ttlMsMin: 10,
      lingers: true,
      scope: 'network',
      safety: SAFETY,
    })
    this.#sweeper = new Sweeper(async () => {
      const [row] = await this.#queries.run('sweep', [SWEEP_IDLE_US, SWEEP_ROWS_MAX])
      return Number(row?.[0]) >= SWEEP_ROWS_MAX
    })
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#turns.take(entry.line, () => this.#enter(entry, wait))
  }

  async #enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const since = instant(system)
    const [row] = await this.#queries.run('enter', [
      Buffer.from(entry.line),
      entry.id,
      entry.weight,
      entry.capacity,
      Math.round(entry.ttlMs * US),
      entry.data,
      this.#inbox,
      wait,
    ])
    this.#sweeper.used()
    const answer = row?.[0] as string | null
    if (answer?.startsWith('capacity ')) {
      throw new CapacityMismatchError(
        `line ${JSON.stringify(entry.line)} has ${answer} while it is in use, asked for ${entry.capacity}`,
        { line: entry.line },
      )
    }
    const place = readPlace(answer, since)
    this.#watches.answered(entry, place)
    return place
  }

  async touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(system)
    const lines = entries.map(({ line }) => hex(line)).join(',')
    const [row] = await this.#queries.run('touch', [lines, entries.map(({ id }) => id).join(',')])
    const answers = String(row?.[0]).split(';')
    return entries.map((entry, i) => {
      const place = readPlace(answers[i] ?? null, since)
      this.#watches.answered(entry, place)
      return place
    })
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    await this.#queries.run('leave', [
      Buffer.from(entry.line),
      entry.id,
      Math.round(entry.ttlMs * US),
      Math.round(afterMs * US),
    ])
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    const starting = this.#hub.start(this.#session, this.#timeoutMs)
    const stop = this.#watches.watch(line, id, wake)
    if (id !== null) return starting === null ? stop : starting.then(() => stop)
    return this.#observe(line, starting, stop)
  }

  async #observe(line: string, starting: Promise<void> | null, stop: Stop): Promise<Stop> {
    try {
      await starting
      await this.#queries.run('observe', [hex(line), OBSERVE_MS * US])
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const rows = await this.#queries.run('list', [Buffer.from(prefix)])
    yield* linesOf(
      rows.map(([name, capacity, token, weight, age, left, data]) => ({
        name: unhex(name),
        capacity: Number(capacity),
        token: BigInt(token as string),
        weight: Number(weight),
        data: String(data),
        ageMs: Number(age) / US,
        leftMs: Number(left) / US,
      })),
    )
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    const { version = 0n, next = null, ttlMs = 0, nonce = null } = change ?? {}
    const values = [Buffer.from(key), change !== null, String(version), next, Math.round(ttlMs * US), nonce]
    const [row] = await this.#queries.run('swap', values)
    const [found, value, wroteBy] = row as [string, string | null, string | null]
    return { version: BigInt(found), value, nonce: wroteBy }
  }

  async break(line: string, now: boolean): Promise<number> {
    const [row] = await this.#queries.run('break', [Buffer.from(line), now])
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
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#sweeper.stop()
    await this.#hub.close()
    await this.#session.close()
  }

  #hubQueries(): ConstructorParameters<typeof Hub>[3] {
    const queries = this.#queries
    return {
      async notify(channel, payload) {
        await queries.run('notify', [channel, payload])
      },
      async poll(waiting) {
        const lines = [...waiting.values()].map(hex).join(',')
        const rows = await queries.run('poll', [lines, [...waiting.keys()].join(',')])
        return rows.map(([id]) => String(id))
      },
      async stamps(lines) {
        const rows = await queries.run('stamps', [lines.map(hex).join(',')])
        return new Map(rows.map(([name, stamp]) => [unhex(name), String(stamp)]))
      },
      async observe(lines) {
        await queries.run('observe', [lines.map(hex).join(','), OBSERVE_MS * US])
      },
    }
  }
}
