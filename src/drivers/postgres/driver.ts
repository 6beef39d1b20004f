/** The PostgreSQL driver: one statement for each of enter, leave and touch; waiters are woken by NOTIFY. */
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
import { capacityError, readPlace, US } from '../sql/place.ts'
import type { PollRange } from '../sql/poller.ts'
import { Renewals } from '../sql/renewals.ts'
import { SWEEP_IDLE_US, SWEEP_ROWS_MAX, Sweeper } from '../sql/sweeper.ts'
import { demandValues, readTaken } from '../sql/taken.ts'
import { sqlTraits } from '../sql/traits.ts'
import { Turns } from '../sql/turns.ts'
import { Watches } from '../sql/watches.ts'
import { toStoreError } from './failure.ts'
import { Hub, OBSERVE_MS } from './hub.ts'
import type { Names } from './names.ts'
import { Queries } from './queries.ts'
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

export class PostgresDriver implements Driver {
  readonly name = 'postgres'
  readonly traits: Traits
  readonly #session: Session
  readonly #names: Names
  readonly #queries: Queries
  readonly #watches = new Watches()
  readonly #turns = new Turns()
  readonly #calm = new CalmLines()
  readonly #renewals = new Renewals((entries) => this.#touch(entries))
  readonly #hub: Hub
  readonly #inbox: string | null
  readonly #timeoutMs: number
  readonly #sweeper: Sweeper
  #closing: Promise<void> | null = null

  constructor({ session, names, timeoutMs, hears, poll }: DriverParts) {
    this.#session = session
    this.#names = names
    this.#timeoutMs = timeoutMs
    this.#queries = new Queries(session, names)
    const inbox = `holdfast_${system.randomId()}`
    this.#inbox = hears ? inbox : null
    this.#hub = new Hub(inbox, names.channel, this.#watches, this.#hubQueries(), poll)
    this.traits = sqlTraits(hears)
    this.#sweeper = new Sweeper(async () => {
      const [row] = await this.#queries.run('sweep', [SWEEP_IDLE_US, SWEEP_ROWS_MAX])
      return Number(row?.[0]) >= SWEEP_ROWS_MAX
    })
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#turns.take(entry.line, () => this.#enter(entry, wait))
  }

  async #enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const { line } = entry
    const since = instant(system)
    const values = [
      Buffer.from(line),
      entry.id,
      entry.weight,
      entry.capacity,
      Math.round(entry.ttlMs * US),
      entry.data,
      this.#inbox,
    ]
    this.#sweeper.used()
    if (this.#calm.has(line)) {
      const [row] = await this.#queries.run('enterShort', values)
      if (row !== undefined) {
        return { token: BigInt(row[0] as string), ahead: 0, recheckMs: null, since, wanted: false }
      }
      this.#calm.note(line, false)
      return this.#enterCrowd(entry, [...values, wait], instant(system))
    }
    return this.#enterCrowd(entry, [...values, wait], since)
  }

  async #enterCrowd(entry: Entry, values: readonly unknown[], since: Instant): Promise<Place | null> {
    const [row] = await this.#queries.run('enter', values)
    const answer = row?.[0] as string | null
    if (answer?.startsWith('capacity ')) throw capacityError(entry, answer)
    const place = readPlace(answer, since)
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
      return [hex(line), id, weight, capacity, Math.round(ttlMs * US), data]
    })
    const [row] = await this.#queries.run('enterAll', [JSON.stringify(batch), this.#inbox])
    this.#sweeper.used()
    const answers = (row?.[0] as string | null)?.split(';')
    if (answers?.[0]?.startsWith('capacity ')) {
      throw capacityError(entries[Number(answers[1]) - 1] as Entry, answers[0])
    }
    return answers === undefined ? null : answers.map((answer) => readPlace(answer, since) as Place)
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const since = instant(system)
    const { line, ttlMs, data } = entry
    const values = [Buffer.from(line), entry.id, id, Math.round(ttlMs * US), data, this.#inbox]
    const [row] = await this.#queries.run('rename', values)
    const place = readPlace(row?.[0] as string | null, since)
    this.#answered({ ...entry, id }, place)
    return place
  }

  async take(key: string, demand: Demand): Promise<Taken> {
    this.#sweeper.used()
    const [row] = await this.#queries.run('take', [Buffer.from(key), ...demandValues(demand)])
    return readTaken(row?.[0], demand)
  }

  touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return this.#renewals.touch(entries)
  }

  async #touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
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
    const name = Buffer.from(entry.line)
    if (afterMs === 0 && this.#calm.has(entry.line)) {
      if ((await this.#queries.change('leaveShort', [name, entry.id])) === 1) return
      this.#calm.note(entry.line, false)
    }
    await this.#queries.run('leave', [name, entry.id, Math.round(entry.ttlMs * US), Math.round(afterMs * US)])
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
    yield* linesOf(rows)
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
