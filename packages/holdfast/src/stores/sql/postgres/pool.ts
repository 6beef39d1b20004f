/**
 * Connections of our own to PostgreSQL. Statements are autocommitted, so several may be on their way in one connection:
 * what finds all connections busy is sent behind what is on its way, and not kept until one is free.
 */
import type * as Pg from 'pg'
import type { Client, QueryConfig } from 'pg'
import { Watchdog } from '../watchdog.ts'
import { isReadOnly } from './errors.ts'

export interface OwnPoolOptions {
  readonly timeoutMs: number
  readonly connections: number
}

/** A connection that nobody has used for so long is given back, except the last. */
const IDLE_MS = 30_000

export interface Answer {
  readonly rows: unknown[][]
  readonly rowCount: number | null
}

export class OwnPgPool {
  readonly #load: () => Promise<typeof Pg>
  readonly #url: string
  readonly #options: OwnPoolOptions
  readonly #connections: Connection[] = []
  #pg: typeof Pg | null = null
  #idleTimer: NodeJS.Timeout | null = null
  #closed = false

  constructor(load: () => Promise<typeof Pg>, url: string, options: OwnPoolOptions) {
    this.#load = load
    this.#url = url
    this.#options = options
  }

  async query(config: QueryConfig): Promise<Answer> {
    this.#pg ??= await this.#load()
    return this.#pick(this.#pg).query(config)
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#idleTimer !== null) clearInterval(this.#idleTimer)
    await Promise.all(this.#connections.splice(0).map((connection) => connection.end()))
  }

  #pick(pg: typeof Pg): Connection {
    let best: Connection | undefined
    for (const connection of this.#connections) {
      if (connection.load === 0) return connection
      if (best === undefined || connection.load < best.load) best = connection
    }
    if (best !== undefined && this.#connections.length >= this.#options.connections) return best
    if (this.#closed) throw new Error('the connections are closed')
    const connection: Connection = new Connection(pg, this.#url, this.#options.timeoutMs, () => this.#drop(connection))
    this.#connections.push(connection)
    this.#idleTimer ??= setInterval(() => this.#trim(), IDLE_MS).unref()
    return connection
  }

  #drop(connection: Connection): void {
    const at = this.#connections.indexOf(connection)
    if (at !== -1) this.#connections.splice(at, 1)
  }

  #trim(): void {
    for (const connection of this.#connections.slice(1)) {
      if (connection.load > 0 || connection.wasUsed()) continue
      this.#drop(connection)
      connection.end().catch(ignored)
    }
  }
}

class Connection {
  readonly #client: Client
  readonly #watchdog: Watchdog
  readonly #broke: () => void
  #opening: Promise<void> | null
  #wasUsed = true
  #isRetired = false

  constructor(pg: typeof Pg, connectionString: string, timeoutMs: number, broke: () => void) {
    this.#broke = broke
    this.#client = new pg.Client({
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: timeoutMs,
      application_name: 'holdfast',
      pipeline: true,
    })
    this.#watchdog = new Watchdog(timeoutMs, () => {
      broke()
      this.#client.connection.stream.destroy()
    })
    // A connection that breaks takes its requests with it, each with its own error; it only must not be picked again.
    this.#client.on('error', broke)
    this.#client.on('end', broke)
    this.#opening = this.#open()
  }

  get load(): number {
    return this.#watchdog.load
  }

  wasUsed(): boolean {
    const was = this.#wasUsed
    this.#wasUsed = false
    return was
  }

  async query(config: QueryConfig): Promise<Answer> {
    this.#wasUsed = true
    if (this.#watchdog.load === 0) this.#client.ref()
    this.#watchdog.asked()
    try {
      if (this.#opening !== null) {
        await this.#opening
        this.#watchdog.heard()
      }
      return await this.#client.query(config)
    } catch (error) {
      // A demoted server keeps its connections open: they would be used, and refused, for ever. What is on its way in
      // this one ends by itself.
      if (isReadOnly(error)) this.#isRetired = true
      throw error
    } finally {
      this.#watchdog.answered()
      if (this.#isRetired) {
        this.#broke()
        if (this.#watchdog.load === 0) this.end().catch(ignored)
      }
      // An idle connection must not keep the process from ending; one that owes an answer must.
      if (this.#watchdog.load === 0) this.#client.unref()
    }
  }

  async end(): Promise<void> {
    this.#watchdog.stop()
    // Somebody awaits this: an idle connection, which lets the process end, must not end it here.
    this.#client.ref()
    await this.#client.end()
  }

  async #open(): Promise<void> {
    try {
      await this.#client.connect()
      this.#opening = null
    } catch (error) {
      this.#broke()
      this.#client.end().catch(ignored)
      throw error
    }
  }
}

/** The connection was never up, or is broken: that its farewell fails too says nothing new. */
function ignored(): void {}
