/** A session over `pg`: connections of our own, or the user's pool. */
import type * as Pg from 'pg'
import type { Client, QueryConfig } from 'pg'
import { answerWithin } from '../deadline.ts'
import { loadPeer } from '../../shared/peer.ts'
import { AS_SENT, type PgPool } from './clients.ts'
import { isLostPreparation, isReadOnly } from './errors.ts'
import { type Answer, OwnPgPool } from './pool.ts'
import type { Reply, Statement } from '../session.ts'
import type { Hearing, PostgresSession } from './session.ts'

export interface PgSessionOptions {
  readonly timeoutMs: number
  readonly connections: number
  /** Where to hear; null: nowhere. */
  readonly listenUrl: string | null
}

const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 2_000

/** Connections of our own, made when they are first needed. */
export function openPg(url: string, options: PgSessionOptions): PostgresSession {
  const pool = new OwnPgPool(loadPg, url, options)
  return new PgSession(
    (config) => pool.query(config),
    options,
    () => pool.close(),
  )
}

/**
 * A pool that was given stays open. How long it lets us wait for a connection is its own affair, so the time is kept
 * here.
 */
export function givenPg(pool: PgPool, options: PgSessionOptions): PostgresSession {
  const { timeoutMs } = options
  const ask = (config: QueryConfig): Promise<Answer> =>
    answerWithin(pool.query({ ...config, query_timeout: timeoutMs }), timeoutMs, 'postgres') as Promise<Answer>
  return new PgSession(ask, options, async () => {})
}

class PgSession implements PostgresSession {
  readonly #ask: (config: QueryConfig) => Promise<Answer>
  readonly #options: PgSessionOptions
  readonly #end: () => Promise<void>
  /** Behind a pooler that changes connections between statements, prepared ones can't be found again. */
  #isPrepared = true
  #ear: Ear | null = null

  constructor(ask: (config: QueryConfig) => Promise<Answer>, options: PgSessionOptions, end: () => Promise<void>) {
    this.#ask = ask
    this.#options = options
    this.#end = end
  }

  async run(statement: Statement, values: readonly unknown[]): Promise<Reply> {
    const { rows, rowCount } = await this.#query(statement, values)
    return { rows, changed: rowCount ?? 0, seat: null }
  }

  async #query({ name, text }: Statement, values: readonly unknown[]): Promise<Answer> {
    if (this.#isPrepared) {
      try {
        return await this.#answer({ name, text, values, rowMode: 'array' })
      } catch (error) {
        if (!isLostPreparation(error)) throw error
        this.#isPrepared = false
      }
    }
    return this.#answer({ text, values, rowMode: 'array' })
  }

  async #answer(config: QueryConfig): Promise<Answer> {
    try {
      return await this.#ask({ ...config, types: AS_SENT })
    } catch (error) {
      // The ear would go on hearing a server on which nothing happens any more.
      if (isReadOnly(error)) this.#ear?.doubt()
      throw error
    }
  }

  async script(sql: string): Promise<void> {
    await this.#ask({ text: sql })
  }

  hear(channels: readonly string[], hearing: Hearing): (() => Promise<void>) | null {
    const { listenUrl } = this.#options
    if (listenUrl === null) return null
    const ear = new Ear(listenUrl, channels, hearing, this.#options.timeoutMs)
    this.#ear = ear
    ear.open()
    return () => ear.close()
  }

  close(): Promise<void> {
    return this.#end()
  }
}

/** The one connection of a process that hears: made again whenever it breaks. */
class Ear {
  readonly #url: string
  readonly #channels: readonly string[]
  readonly #hearing: Hearing
  readonly #timeoutMs: number
  #client: Client | null = null
  #timer: NodeJS.Timeout | null = null
  #retryMs = RETRY_MS_MIN
  #openedAt = 0
  #closed = false

  constructor(url: string, channels: readonly string[], hearing: Hearing, timeoutMs: number) {
    this.#url = url
    this.#channels = channels
    this.#hearing = hearing
    this.#timeoutMs = timeoutMs
  }

  open(): void {
    this.#timer = null
    this.#connect().then(
      () => this.#opened(),
      () => {
        // A standby refuses LISTEN: whoever waits to be heard first goes on at once, and polls.
        this.#hearing.lost()
        this.#again()
      },
    )
  }

  #opened(): void {
    this.#retryMs = RETRY_MS_MIN
    this.#openedAt = performance.now()
    if (!this.#closed) this.#hearing.opened()
  }

  /**
   * The server takes no writes: another connection may lead elsewhere. Not again and again, while there is no other.
   */
  doubt(): void {
    if (performance.now() - this.#openedAt > RETRY_MS_MAX) this.#client?.connection.stream.destroy()
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    const client = this.#client
    this.#client = null
    // Somebody awaits this: a connection that lets the process end must not end it here.
    client?.ref()
    await client?.end()
  }

  async #connect(): Promise<void> {
    const pg = await loadPg()
    if (this.#closed) return
    const client = new pg.Client({
      connectionString: this.#url,
      keepAlive: true,
      connectionTimeoutMillis: this.#timeoutMs,
      query_timeout: this.#timeoutMs,
      application_name: 'holdfast listen',
    })
    this.#client = client
    // Both events come for one break; only the first counts, as the client is then no longer ours.
    const broke = (): void => {
      if (this.#client !== client) return
      this.#client = null
      this.#hearing.lost()
      this.#again()
    }
    client.on('notification', ({ channel, payload = '' }: { channel: string; payload?: string }) =>
      this.#hearing.heard(channel, payload),
    )
    let isUp = false
    client.on('error', () => isUp && broke())
    client.on('end', () => isUp && broke())
    try {
      await client.connect()
      await client.query(this.#channels.map((channel) => `LISTEN ${client.escapeIdentifier(channel)}`).join(';'))
    } catch (error) {
      this.#client = null
      client.end().catch(ignored)
      throw error
    }
    isUp = true
    client.unref()
  }

  #again(): void {
    if (this.#closed) return
    this.#timer = setTimeout(() => this.open(), this.#retryMs * (0.5 + Math.random())).unref()
    this.#retryMs = Math.min(this.#retryMs * 2, RETRY_MS_MAX)
  }
}

/** The connection was never up, or is broken: that its farewell fails too says nothing new. */
function ignored(): void {}

export async function loadPg(): Promise<typeof Pg> {
  return loadPeer('pg') as typeof Pg
}
