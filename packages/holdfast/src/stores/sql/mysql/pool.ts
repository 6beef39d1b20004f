/**
 * Connections of our own to MySQL or MariaDB: one statement at a time on each, the others wait for the first that is
 * free.
 */
import type * as Mysql2 from 'mysql2'
import { StoreUnreachableError } from '../../../contract/errors.ts'
import { Watchdog } from '../watchdog.ts'
import { type Address, addressOf } from './address.ts'
import { ownSettings } from './autocommit.ts'
import { HARMLESS } from './errors.ts'
import type { Reply, Seat } from '../session.ts'
import { toReply, type Value } from './reply.ts'
import { Statements } from './statements.ts'

export interface OwnPoolOptions {
  readonly timeoutMs: number
  readonly connections: number
}

interface Job {
  readonly sql: string
  readonly values: Value[]
  resolve(reply: Reply): void
  reject(error: unknown): void
}

/** A connection that nobody has used for so long is given back, except the last. */
const IDLE_MS = 30_000

export class OwnMysqlPool {
  readonly #load: () => Promise<typeof Mysql2>
  readonly #address: Address
  readonly #options: OwnPoolOptions
  readonly #connections: Connection[] = []
  readonly #waiting: Job[] = []
  #mysql2: typeof Mysql2 | null = null
  #idleTimer: NodeJS.Timeout | null = null
  /** When anybody was answered last. */
  #heardAt = 0

  constructor(load: () => Promise<typeof Mysql2>, url: string, options: OwnPoolOptions) {
    this.#load = load
    this.#address = addressOf(url)
    this.#options = options
  }

  /** By the seat that is asked for, if it is still open; else by any. */
  async run(sql: string, values: Value[], seat?: Seat): Promise<Reply> {
    const mysql2 = (this.#mysql2 ??= await this.#load())
    return new Promise((resolve, reject) => {
      const job = { sql, values, resolve, reject }
      const connection = seat instanceof Connection && seat.isOpen ? seat : this.#free(mysql2)
      if (connection === undefined) this.#waiting.push(job)
      else connection.put(job)
    })
  }

  /**
   * A connection that only its owner uses, for statements that take long; a process may end in spite of it, unless it
   * `keepsAlive`.
   */
  async own(timeoutMs: number, keepsAlive: boolean): Promise<Ear> {
    const mysql2 = (this.#mysql2 ??= await this.#load())
    const connection = new Connection(mysql2, this.#address, { timeoutMs, keepsAlive, long: true }, () => undefined)
    return {
      run: (sql, values) => new Promise((resolve, reject) => connection.put({ sql, values, resolve, reject })),
      isOpen: () => connection.isOpen,
      close: () => connection.destroy(),
    }
  }

  async close(): Promise<void> {
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer)
    for (const job of this.#waiting.splice(0)) job.reject(new StoreUnreachableError('mysql: the store was closed'))
    await Promise.all(this.#connections.splice(0).map((connection) => connection.end()))
  }

  #free(mysql2: typeof Mysql2): Connection | undefined {
    for (const connection of this.#connections) if (connection.isIdle) return connection
    if (this.#connections.length >= this.#options.connections) return undefined
    const { timeoutMs } = this.#options
    const connection: Connection = new Connection(
      mysql2,
      this.#address,
      { timeoutMs, keepsAlive: true, long: false },
      () => this.#next(connection),
    )
    this.#connections.push(connection)
    this.#idleTimer ??= setInterval(() => this.#trim(), IDLE_MS).unref()
    return connection
  }

  /** A connection has nothing to do, or is no more. */
  #next(connection: Connection): Job | undefined {
    if (connection.isOpen) {
      this.#heardAt = performance.now()
      return this.#waiting.shift()
    }
    const at = this.#connections.indexOf(connection)
    if (at !== -1) this.#connections.splice(at, 1)
    const { timeoutMs } = this.#options
    const since = Math.max(this.#heardAt, connection.askedAt)
    // Nobody is answered: each of those that wait would be given up on in its turn, a few at a time, for minutes.
    if (performance.now() - since >= timeoutMs * SILENT) {
      const error = new StoreUnreachableError(`mysql gave no answer within ${timeoutMs} ms`)
      for (const job of this.#waiting.splice(0)) job.reject(error)
    }
    const job = this.#waiting[0]
    if (job !== undefined && this.#mysql2 !== null) {
      const other = this.#free(this.#mysql2)
      if (other !== undefined) {
        this.#waiting.shift()
        other.put(job)
      }
    }
    return undefined
  }

  #trim(): void {
    for (const connection of this.#connections.slice(1)) {
      if (!connection.isIdle || connection.wasUsed()) continue
      this.#connections.splice(this.#connections.indexOf(connection), 1)
      void connection.end()
    }
  }
}

/** Of the time that an answer may take: a connection that could not be made in it gives up a little earlier. */
const SILENT = 0.9

/** A connection for statements that wait on the server. */
export interface Ear {
  run(sql: string, values: Value[]): Promise<Reply>
  isOpen(): boolean
  close(): void
}

interface ConnectionOptions {
  readonly timeoutMs: number
  readonly keepsAlive: boolean
  readonly long: boolean
}

class Connection implements Seat {
  readonly #connection: Mysql2.Connection
  readonly #statements: Statements
  readonly #watchdog: Watchdog
  readonly #keepsAlive: boolean
  readonly #next: () => Job | undefined
  readonly #queue: Job[] = []
  #job: Job | null = null
  #wasUsed = true
  isOpen = true
  askedAt = 0

  constructor(mysql2: typeof Mysql2, address: Address, options: ConnectionOptions, next: () => Job | undefined) {
    const { timeoutMs } = options
    this.#keepsAlive = options.keepsAlive
    this.#next = next
    this.#connection = mysql2.createConnection({
      ...address,
      connectTimeout: timeoutMs,
      enableKeepAlive: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      rowsAsArray: true,
    })
    this.#statements = new Statements(this.#connection, () => this.#watchdog.heard())
    this.#watchdog = new Watchdog(timeoutMs, () =>
      this.#broke(new StoreUnreachableError(`mysql gave no answer within ${timeoutMs} ms`)),
    )
    this.#connection.on('error', (error: unknown) => this.#broke(error))
    // Ahead of all that is asked for: the server's own setting may be otherwise.
    this.#connection.query(ownSettings(options.long), (error) => error !== null && this.#broke(error))
    this.#connection.on('end', () => this.#broke(new StoreUnreachableError('mysql: the connection was closed')))
  }

  get isIdle(): boolean {
    return this.isOpen && this.#job === null
  }

  wasUsed(): boolean {
    const was = this.#wasUsed
    this.#wasUsed = false
    return was
  }

  put(job: Job): void {
    if (this.#job === null) this.#send(job)
    else this.#queue.push(job)
  }

  destroy(): void {
    this.#broke(new StoreUnreachableError('mysql: the store was closed'))
  }

  end(): Promise<void> {
    this.isOpen = false
    this.#watchdog.stop()
    // Somebody awaits this: an idle connection, which lets the process end, must not end it here.
    this.#hold(true)
    return new Promise((resolve) => {
      // A connection that is broken can't say farewell, and need not.
      this.#connection.end(() => resolve())
    })
  }

  #send(job: Job): void {
    this.#job = job
    this.#wasUsed = true
    this.askedAt = performance.now()
    this.#watchdog.asked()
    this.#hold(true)
    const { sql, values } = job
    const done = (error: Mysql2.QueryError | null, result: unknown): void => this.#done(job, error, result)
    // What has no values is a definition, which can't be prepared everywhere.
    if (values.length === 0) this.#connection.query(sql, done)
    else this.#statements.execute(sql, values, done)
  }

  #done(job: Job, error: Mysql2.QueryError | null, result: unknown): void {
    if (this.#job !== job) return
    this.#job = null
    this.#watchdog.answered()
    if (error === null) {
      job.resolve(toReply(result, this))
    } else {
      job.reject(error)
      // A statement that was killed may have left its transaction open, and row locks with it: such a connection must
      // not live on.
      if (!HARMLESS.has(error.errno ?? 0)) {
        this.#broke(error)
        return
      }
    }
    if (!this.isOpen) return
    const next = this.#queue.shift() ?? this.#next()
    if (next !== undefined) this.#send(next)
    else this.#hold(false)
  }

  #broke(error: unknown): void {
    if (!this.isOpen) return
    this.isOpen = false
    this.#watchdog.stop()
    this.#connection.destroy()
    this.#job?.reject(error)
    this.#job = null
    for (const job of this.#queue.splice(0)) job.reject(error)
    this.#next()
  }

  /** An idle connection must not keep the process from ending; one that owes an answer must. */
  #hold(isHeld: boolean): void {
    const { stream } = this.#connection as unknown as { readonly stream?: { ref?(): void; unref?(): void } }
    if (isHeld && this.#keepsAlive) stream?.ref?.()
    else stream?.unref?.()
  }
}
