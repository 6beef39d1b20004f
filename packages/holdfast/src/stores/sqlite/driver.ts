/** The SQLite driver: lines shared by the processes of one host, in one file. */
import { diagnostics } from '../../contract/events.ts'
import { ClosedError } from '../../contract/errors.ts'
import type { Cancel } from '../../contract/runtime.ts'
import { instant } from '../../contract/validity.ts'
import {
  type CellView,
  type Change,
  type Demand,
  type Driver,
  type Entry,
  type Instant,
  type LineView,
  type Place,
  type Stop,
  type Taken,
  type Traits,
  type Wake,
} from '../../contract/driver.ts'
import { type FileListener, type FileOptions, SqliteFile } from './file.ts'
import { toStoreError } from './errors.ts'
import { readStat } from './host.ts'
import { OwnPlaces } from './places.ts'
import type { Wakeup } from './removal.ts'
import type { Answer } from './store.ts'
import { Liveness, type LivenessListener, type Waiting } from './liveness.ts'
import { LocalWakeups, messageOf, parseMessage, type Told } from './wakeups.ts'

const TRAITS: Traits = Object.freeze({
  fair: true,
  fenced: true,
  counting: true,
  push: 'answer',
  ttlMsMin: 20,
  lingers: true,
  scope: 'host',
  safety:
    'Holds between the processes of one host that share the file, and across their death and a stepped clock. ' +
    'A file on a network file system, or one shared by two kernels, breaks it.',
})

/** Places in one job: a heartbeat of many must not block the event loop. */
const TOUCHES_PER_JOB = 50
/** How often observers of a line hear that another process has written. */
const OBSERVE_MS = 200

/** The store in a SQLite file. */
export class SqliteDriver implements Driver, FileListener, LivenessListener {
  readonly name = 'sqlite'
  readonly traits: Traits = TRAITS
  readonly #options: FileOptions
  readonly #ids = new OwnPlaces()
  readonly #localWakeups: LocalWakeups = new LocalWakeups(() => this.#observe())
  readonly #liveness: Liveness
  #file: SqliteFile | null = null
  #opening: Promise<SqliteFile> | null = null
  #closing: Promise<void> | null = null
  #cancelObserve: Cancel | null = null
  #dataVersion: unknown = null

  /** @internal */
  constructor(options: FileOptions) {
    this.#options = options
    this.#liveness = new Liveness(options.runtime, this)
  }

  async setup(): Promise<void> {
    await this.#open()
  }

  async enter(given: Entry, wait: boolean): Promise<Place | null> {
    const entry = this.#stored(given)
    const since = instant(this.#options.runtime)
    if (this.#ids.isSpent(entry.id)) return null
    const token = this.#ids.token(entry.id)
    const answer = await this.#run(({ store }) =>
      token === undefined ? store.enter(entry, wait) : store.touch(entry, token),
    )
    if (answer !== null || token !== undefined) this.#note(entry, answer)
    this.#localWakeups.changed(entry.line)
    return toPlace(answer, since)
  }

  async touch(given: readonly Entry[]): Promise<(Place | null)[]> {
    const entries = given.map((entry) => this.#stored(entry))
    const since = instant(this.#options.runtime)
    const jobs: Promise<(Answer | null)[]>[] = []
    for (let i = 0; i < entries.length; i += TOUCHES_PER_JOB) {
      const some = entries.slice(i, i + TOUCHES_PER_JOB)
      jobs.push(
        this.#run(({ store }) =>
          some.map((entry) => {
            const token = this.#ids.token(entry.id) ?? store.find(entry)
            return token === undefined ? null : store.touch(entry, token)
          }),
        ),
      )
    }
    const answers = (await Promise.all(jobs)).flat()
    for (const [i, entry] of entries.entries()) this.#note(entry, answers[i] ?? null)
    return answers.map((answer) => toPlace(answer, since))
  }

  async leave(given: Entry, afterMs = 0): Promise<void> {
    const entry = this.#stored(given)
    this.#liveness.remove(entry.id)
    await this.#run(({ store }) => store.leave(entry, this.#ids.token(entry.id), afterMs))
    this.#ids.spend(entry.id)
    this.#localWakeups.changed(entry.line)
  }

  watch(line: string, id: string | null, wake: Wake): Stop {
    if (id === null) return this.#localWakeups.observe(this.#options.names.stored(line), wake)
    const stop = this.#localWakeups.watch(id, wake)
    return () => {
      stop()
      this.#liveness.remove(id)
    }
  }

  async *list(prefix: string): AsyncGenerator<LineView> {
    const { host, names } = this.#options
    for (let after = ''; ; ) {
      const from = after
      const page = await this.#run(({ listing }) => listing.page(names.stored(prefix), from, host.now()))
      const last = page.at(-1)
      if (last === undefined) return
      // A line without places after the purge is no line.
      for (const line of page) if (line.capacity > 0) yield { ...line, name: names.shown(line.name) }
      after = last.name
    }
  }

  async swap(key: string, change: Change | null): Promise<CellView> {
    return this.#run(({ cells }) => cells.swap(this.#options.names.stored(key), change, this.#options.host.now()))
  }

  async break(name: string, now: boolean): Promise<number> {
    const line = this.#options.names.stored(name)
    const count = await this.#run(({ store }) => store.break(line, now))
    this.#localWakeups.changed(line)
    return count
  }

  async enterAll(given: readonly Entry[]): Promise<Place[] | null> {
    const entries = given.map((entry) => this.#stored(entry))
    const since = instant(this.#options.runtime)
    if (entries.some(({ id }) => this.#ids.isSpent(id))) return null
    const answers = await this.#run(({ store }) => store.enterAll(entries))
    if (answers === null) return null
    for (const [i, entry] of entries.entries()) {
      this.#note(entry, answers[i] ?? null)
      this.#localWakeups.changed(entry.line)
    }
    return answers.map((answer) => placeOf(answer, since))
  }

  async rename(given: Entry, id: string): Promise<Place | null> {
    const entry = this.#stored(given)
    const since = instant(this.#options.runtime)
    const answer = await this.#run(({ store }) => store.rename(entry, id))
    this.#ids.spend(entry.id)
    this.#note({ ...entry, id }, answer)
    return toPlace(answer, since)
  }

  async reweigh(given: Entry, turn: number): Promise<Place | null> {
    const entry = this.#stored(given)
    const since = instant(this.#options.runtime)
    const answer = await this.#run(({ store }) => store.reweigh(entry, turn))
    this.#note(entry, answer)
    this.#localWakeups.changed(entry.line)
    return toPlace(answer, since)
  }

  async take(key: string, demand: Demand): Promise<Taken> {
    return this.#run(({ buckets }) => buckets.take(this.#options.names.stored(key), demand, this.#options.host.now()))
  }

  /**
   * Ties the places that this driver has in a line to one more process. They are alive while either process lives, even
   * past their ttl if this process can't renew them any more. With `group` (default true) that process counts as alive
   * while any member of the process group that it leads lives. Returns how many places were tied: 0 if that process has
   * ended already.
   */
  async alsoAlive(name: string, pid: number, options: { readonly group?: boolean } = {}): Promise<number> {
    const { host } = this.#options
    const stat = host.world === null ? null : readStat(pid)
    if (stat === null) return 0
    const who = { world: host.world, pid, start: stat.start, isGroup: options.group ?? true, socket: '' }
    return this.#run(({ store }) => store.bind(this.#options.names.stored(name), who))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  // What the file reports.

  woken(wakeups: readonly Wakeup[]): void {
    const file = this.#file
    for (const wakeup of wakeups) {
      const { process } = wakeup
      if (file === null || process === file.process) this.#told(wakeup)
      else file.wakeupSockets.ring(process, this.#socketOf(file, process), messageOf(wakeup))
    }
  }

  rung(message: string): void {
    this.#told(parseMessage(message))
  }

  #told(told: Told): void {
    if ('line' in told) this.#localWakeups.changed(told.line)
    else this.#wake(told.id, told.token)
  }

  gone(key: number): void {
    this.#liveness.gone(key)
  }

  /** The next call opens the file that is there now, and finds none of our places in it. */
  replaced(): void {
    const file = this.#file
    this.#file = null
    this.#opening = null
    file?.close().catch((error: unknown) => diagnostics.failed(this.#options.path, error))
  }

  // What the liveness watch asks.

  /** Whether the process with this key has ended. */
  isDead(process: number): boolean {
    const file = this.#file
    return file !== null && (this.#quietly(() => file.census.isDead(process)) ?? false)
  }

  async died(processes: readonly number[]): Promise<boolean> {
    return this.#inBackground(({ store }) => store.removal.reap(processes, this.#options.host.now()))
  }

  look(waiting: readonly Waiting[]): void {
    this.#file?.wakeupSockets.tidy()
    for (let i = 0; i < waiting.length; i += TOUCHES_PER_JOB) {
      const some = waiting.slice(i, i + TOUCHES_PER_JOB)
      void this.#inBackground(({ store }) => {
        const answers = some.map(({ entry, token }) => store.look(entry, token))
        return () => this.#looked(some, answers)
      })
    }
  }

  #looked(waiting: readonly Waiting[], answers: readonly (Answer | null)[]): void {
    for (const [i, { entry, token }] of waiting.entries()) {
      const answer = answers[i] ?? null
      if (answer === null) this.#wake(entry.id, null)
      else if (answer.granted) this.#wake(entry.id, token)
      else this.#note(entry, answer)
    }
  }

  /** A job of the driver's own: it may fail while the file is busy, and is done again at the next occasion. */
  async #inBackground(job: (file: SqliteFile) => unknown): Promise<boolean> {
    if (this.#file === null || this.#closing !== null) return false
    try {
      const then = await this.#run(job)
      if (typeof then === 'function') then()
      return true
    } catch (error) {
      diagnostics.failed(this.#options.path, error)
      return false
    }
  }

  #stored(entry: Entry): Entry {
    return { ...entry, line: this.#options.names.stored(entry.line) }
  }

  #wake(id: string, token: number | null): void {
    this.#liveness.remove(id)
    this.#localWakeups.wake(id, token === null ? undefined : { id, token: BigInt(token) })
  }

  #note(entry: Entry, answer: Answer | null): void {
    const { id } = entry
    if (answer === null) {
      this.#ids.spend(id)
      this.#liveness.remove(id)
      return
    }
    this.#ids.entered(id, answer.token)
    if (answer.blockers.length === 0 || !this.#localWakeups.has(id)) {
      this.#liveness.remove(id)
      return
    }
    const file = this.#file
    const { token, blockers } = answer
    this.#liveness.add({ entry, token, blockers })
    if (file === null) return
    for (const key of blockers) {
      if (key !== file.process) file.wakeupSockets.attend(key, this.#socketOf(file, key))
    }
  }

  #socketOf(file: SqliteFile, key: number): string {
    return this.#quietly(() => file.census.find(key))?.socket ?? ''
  }

  /**
   * Reads in a timer or after a commit, where an error would reach nobody: the next call reports what is wrong with the
   * file.
   */
  #quietly<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      diagnostics.failed(this.#options.path, toStoreError(error, this.#options.path))
      return undefined
    }
  }

  async #run<T>(job: (file: SqliteFile) => T): Promise<T> {
    const file = this.#file ?? (await this.#open())
    return file.batch.run(() => job(file))
  }

  #open(): Promise<SqliteFile> {
    if (this.#closing !== null) throw new ClosedError('this SQLite store was closed; open it again with sqlite()')
    this.#opening ??= SqliteFile.open(this.#options, this).then(
      async (file) => {
        this.#file = file
        await this.#inBackground(({ listing, census, wakeupSockets }) => {
          listing.reapAll(this.#options.host.now())
          const claimed = census.sockets()
          return () => wakeupSockets.sweep(claimed)
        })
        return file
      },
      (error: unknown) => {
        this.#opening = null
        throw error
      },
    )
    return this.#opening
  }

  async #close(): Promise<void> {
    const opening = this.#opening
    this.#liveness.close()
    this.#cancelObserve?.()
    // A file that could not be opened needs no closing; the caller that opened it got the error.
    if (this.#file === null && opening !== null) await Promise.allSettled([opening])
    await this.#file?.close()
  }

  /** Other processes' commits change the file's version, which is cheap to read and needs no lock. */
  #observe(): void {
    if (this.#closing !== null || this.#cancelObserve !== null) return
    this.#cancelObserve = this.#options.runtime.after(
      OBSERVE_MS,
      () => {
        this.#cancelObserve = null
        if (!this.#localWakeups.hasObservers) return
        this.#observe()
        const file = this.#file
        // An observer that hears nothing would wait for ever. So an unreadable file counts as changed, and the
        // observer's own look fails.
        const version = file === null ? null : this.#quietly(() => file.dataVersion())
        if (version === this.#dataVersion) return
        this.#dataVersion = version
        this.#localWakeups.changed(null)
      },
      false,
    )
  }
}

function toPlace(answer: Answer | null, since: Instant): Place | null {
  return answer === null ? null : placeOf(answer, since)
}

function placeOf({ token, ahead, recheckMs, wanted }: Answer, since: Instant): Place {
  return { token: BigInt(token), ahead, recheckMs, since, wanted }
}
