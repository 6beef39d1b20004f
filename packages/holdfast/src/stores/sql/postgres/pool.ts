/**
 * Connections of our own to PostgreSQL. Statements are autocommitted, so several may be on their way in one connection: what finds all
 * connections busy is sent behind what is on its way, and not kept until one is free.
 */
import type * as Pg from 'pg'
import type { Client, QueryConfig } from 'pg'
import { Watchdog } from '../sql/watchdog.ts'

export interface LanesOptions {
  readonly timeoutMs: number
  readonly connections: number
}

/** A connection that nobody has used for so long is given back, except the last. */
const IDLE_MS = 30_000

export interface Answer {
  readonly rows: unknown[][]
  readonly rowCount: number | null
}

export class PgLanes {
  readonly #load: () => Promise<typeof Pg>
  readonly #url: string
  readonly #options: LanesOptions
  readonly #lanes: Lane[] = []
  #pg: typeof Pg | null = null
  #idleTimer: NodeJS.Timeout | null = null
  #closed = false

  constructor(load: () => Promise<typeof Pg>, url: string, options: LanesOptions) {
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
    await Promise.all(this.#lanes.splice(0).map((lane) => lane.end()))
  }

  #pick(pg: typeof Pg): Lane {
    let best: Lane | undefined
    for (const lane of this.#lanes) {
      if (lane.load === 0) return lane
      if (best === undefined || lane.load < best.load) best = lane
    }
    if (best !== undefined && this.#lanes.length >= this.#options.connections) return best
    if (this.#closed) throw new Error('the connections are closed')
    const lane: Lane = new Lane(pg, this.#url, this.#options.timeoutMs, () => this.#drop(lane))
    this.#lanes.push(lane)
    this.#idleTimer ??= setInterval(() => this.#trim(), IDLE_MS).unref()
    return lane
  }

  #drop(lane: Lane): void {
    const at = this.#lanes.indexOf(lane)
    if (at !== -1) this.#lanes.splice(at, 1)
  }

  #trim(): void {
    for (const lane of this.#lanes.slice(1)) {
      if (lane.load > 0 || lane.wasUsed()) continue
      this.#drop(lane)
      lane.end().catch(ignored)
    }
  }
}

class Lane {
  readonly #client: Client
  readonly #watchdog: Watchdog
  readonly #broke: () => void
  #opening: Promise<void> | null
  #wasUsed = true

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
      if (this.#opening !== null) await this.#opening
      return await this.#client.query(config)
    } finally {
      this.#watchdog.answered()
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
