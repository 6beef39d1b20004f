/**
 * The driver of both SQL stores: one statement, one round trip, for each of enter, leave and touch; and one for all
 * enters, and one for all leaves, of a turn of the event loop whose lines are free (batch.ts).
 */
import { instant } from '../../contract/validity.ts'
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
} from '../../contract/driver.ts'
import { system } from '../../system.ts'
import { type Answer, CallBatch } from './batch.ts'
import { CalmLines } from './calm-lines.ts'
import type { Dialect, Wakeups } from './dialect.ts'
import { Entering } from './entering.ts'
import { linesOf } from './listing.ts'
import { refusedCapacity, readPlace } from './places.ts'
import { answerOf, type Queries, SWEEP_ROWS_MAX } from './queries.ts'
import { Renewals } from './renewals.ts'
import { Sweeper } from './sweeper.ts'
import { readTaken } from './taken.ts'
import { Traffic } from './batch-statements.ts'
import { sqlTraits } from './traits.ts'

export class SqlDriver implements Driver {
  readonly name: string
  readonly traits: Traits
  readonly #dialect: Dialect
  readonly #queries: Queries
  readonly #wakeups: Wakeups
  readonly #entering = new Entering()
  readonly #calm = new CalmLines()
  readonly #traffic = new Traffic()
  readonly #enters: CallBatch
  readonly #leaves: CallBatch
  readonly #renewals = new Renewals((entries) => this.#touch(entries))
  readonly #sweeper: Sweeper
  #closing: Promise<void> | null = null

  constructor(dialect: Dialect) {
    const { queries, wakeups, halvesFrom } = dialect
    this.name = dialect.name
    this.#dialect = dialect
    this.#queries = queries
    this.#wakeups = wakeups
    this.traits = sqlTraits(wakeups.isTold)
    const traffic = this.#traffic
    this.#enters = new CallBatch({
      traffic,
      halvesFrom,
      alone: (entry) => this.#enterShort(entry),
      together: (entries) => this.#together('enterJoined', entries),
    })
    this.#leaves = new CallBatch({
      traffic,
      halvesFrom,
      alone: async (entry) => ((await queries.ask('leaveShort', entry)).changed === 1 ? '1' : null),
      together: (entries) => this.#together('leaveJoined', entries),
    })
    this.#sweeper = new Sweeper(async () => Number(answerOf(await queries.ask('sweep', {}))) >= SWEEP_ROWS_MAX)
  }

  enter(entry: Entry, wait: boolean): Promise<Place | null> {
    return this.#entering.run(entry, () => this.#enter(entry, wait))
  }

  async #enter(entry: Entry, wait: boolean): Promise<Place | null> {
    const { line } = entry
    const since = instant(system)
    this.#sweeper.used()
    if (this.#calm.get(line) === false) return this.#enterCrowd(entry, wait, since)
    const token = await this.#enters.ask(entry)
    this.#calm.note(line, token !== null)
    if (token !== null) return { token: BigInt(token), ahead: 0, recheckMs: null, since, wanted: false }
    return this.#traffic.add(this.#enterCrowd(entry, wait, instant(system)))
  }

  /** A line that is not known may be new, or crowded: the long way finds out in one round trip. */
  async #enterShort(entry: Entry): Promise<Answer> {
    return this.#calm.get(entry.line) === true ? answerOf(await this.#queries.ask('enterShort', entry)) : null
  }

  async #together(name: 'enterJoined' | 'leaveJoined', entries: readonly Entry[]): Promise<Answer[]> {
    const answer = await this.#dialect.joined(name, entries)
    const answers = this.#dialect.readAnswers(answer ?? '', entries.length)
    return entries.map((_, i) => answers[i] || null)
  }

  async #enterCrowd(entry: Entry, wait: boolean, since: Instant): Promise<Place | null> {
    const reply = await this.#queries.ask('enter', { ...entry, wait })
    const answer = answerOf(reply)
    if (answer?.startsWith('capacity ')) throw refusedCapacity(entry, answer)
    const place = readPlace(answer, since)
    this.#wakeups.answered?.(entry.id, place, reply.seat)
    this.#answered(entry, place)
    return place
  }

  #answered(entry: Entry, place: Place | null): void {
    this.#wakeups.waiters.answered(entry, place)
    if (place !== null) this.#calm.note(entry.line, place.ahead === 0 && !place.wanted)
  }

  async enterAll(entries: readonly Entry[]): Promise<Place[] | null> {
    const since = instant(system)
    const answer = answerOf(await this.#queries.ask('enterAll', { entries }))
    this.#sweeper.used()
    if (answer === null) return null
    // The capacity that was found, and at which of the entries.
    const [, found, nth] = /^(capacity \d+)[;,](\d+)/.exec(answer) ?? []
    if (found !== undefined) throw refusedCapacity(entries[Number(nth) - 1] as Entry, found)
    const answers = this.#dialect.readAnswers(answer, entries.length)
    return entries.map((_, i) => readPlace(answers[i] ?? null, since) as Place)
  }

  async rename(entry: Entry, id: string): Promise<Place | null> {
    const since = instant(system)
    const place = readPlace(answerOf(await this.#queries.ask('rename', { ...entry, newId: id })), since)
    this.#answered({ ...entry, id }, place)
    return place
  }

  async reweigh(entry: Entry, turn: number): Promise<Place | null> {
    const since = instant(system)
    const place = readPlace(answerOf(await this.#queries.ask('reweigh', { ...entry, turn })), since)
    this.#wakeups.waiters.reweighed(entry, place)
    this.#calm.note(entry.line, false)
    return place
  }

  async take(key: string, demand: Demand): Promise<Taken> {
    this.#sweeper.used()
    return readTaken(answerOf(await this.#queries.ask('take', { line: key, demand })), demand)
  }

  touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    return this.#renewals.touch(entries)
  }

  async #touch(entries: readonly Entry[]): Promise<(Place | null)[]> {
    const since = instant(system)
    const answer = answerOf(await this.#queries.ask('touch', { places: entries }))
    const answers = this.#dialect.readAnswers(answer ?? '', entries.length)
    return entries.map((entry, i) => {
      const place = readPlace(answers[i] ?? null, since)
      this.#wakeups.waiters.answered(entry, place)
      this.#wakeups.answered?.(entry.id, place, null)
      return place
    })
  }

  async leave(entry: Entry, afterMs = 0): Promise<void> {
    if (!this.#entering.leave(entry.id)) return
    if (afterMs === 0 && this.#calm.get(entry.line) === true) {
      if ((await this.#leaves.ask(entry)) !== null) return
      this.#calm.note(entry.line, false)
    }
    const seat = this.#wakeups.seatOf?.(entry.id)
    await this.#queries.ask('leave', { ...entry, afterMs, rings: seat?.isOpen === true }, seat)
  }

  watch(line: string, id: string | null, wake: Wake): Stop | Promise<Stop> {
    const starting = this.#wakeups.start?.() ?? null
    const stop = this.#wakeups.waiters.watch(line, id, wake)
    if (id === null) return this.#observe(line, starting, stop)
    return starting === null ? stop : starting.then(() => stop)
  }

  async #observe(line: string, starting: Promise<void> | null, stop: Stop): Promise<Stop> {
    try {
      await starting
      await this.#wakeups.observe(line)
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    yield* linesOf((await this.#queries.ask('list', { line: prefix })).rows)
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    const { rows } = await this.#queries.ask('swap', { line: key, change })
    const [found, value, nonce] = rows[0] as [string, string | Buffer | null, string | null]
    return { version: BigInt(found), value: value === null ? null : String(value), nonce }
  }

  async break(line: string, now: boolean): Promise<number> {
    return Number(answerOf(await this.#queries.ask('break', { line, now })))
  }

  setup(): Promise<void> {
    return this.#dialect.setup()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#sweeper.stop()
    await this.#wakeups.close()
    await this.#dialect.close()
  }
}
