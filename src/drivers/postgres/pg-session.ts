/** A session over `pg`: a pool of our own, or the user's. */
import type * as Pg from 'pg'
import type { Client, Pool } from 'pg'
import { missingClient } from '../sql/missing.ts'
import type { PgPool } from './clients.ts'
import type { Hearing, Session, Statement } from './session.ts'

export interface PgSessionOptions {
  readonly timeoutMs: number
  readonly connections: number
  /** Where to hear; null: nowhere. */
  readonly listenUrl: string | null
}

const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 2_000

/** A pool of our own, made when it is first needed. */
export function openPg(url: string, options: PgSessionOptions): Session {
  let opened: Promise<Pool> | null = null
  const open = async (): Promise<Pool> => {
    const pg = await loadPg()
    const pool = new pg.Pool({
      connectionString: url,
      max: options.connections,
      keepAlive: true,
      // An idle pool must not keep the process from ending; who awaits an answer has a timer that does.
      allowExitOnIdle: true,
      connectionTimeoutMillis: options.timeoutMs,
      application_name: 'holdfast',
    })
    // An idle connection that breaks is replaced by the pool; without a listener the event would end the process.
    pool.on('error', () => {})
    return pool
  }
  return new PgSession(
    () => (opened ??= open()),
    options,
    async () => (await opened)?.end(),
  )
}

export class PgSession implements Session {
  readonly #open: () => Promise<PgPool>
  readonly #options: PgSessionOptions
  readonly #end: () => Promise<void>
  /** Behind a pooler that changes connections between statements, prepared ones can't be found again. */
  #isPrepared = true
  #pool: PgPool | null = null

  constructor(open: () => Promise<PgPool>, options: PgSessionOptions, end: () => Promise<void>) {
    this.#open = open
    this.#options = options
    this.#end = end
  }

  async run(statement: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    try {
      return await this.#query(statement, values)
    } catch (error) {
      if (!this.#isPrepared || !isLostPreparation(error)) throw error
      this.#isPrepared = false
      return this.#query(statement, values)
    }
  }

  async #query({ name, text }: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    const { timeoutMs: query_timeout } = this.#options
    const query = { text, values, rowMode: 'array' as const, query_timeout }
    this.#pool ??= await this.#open()
    const { rows } = await this.#pool.query(this.#isPrepared ? { ...query, name } : query)
    return rows as unknown[][]
  }

  async script(sql: string): Promise<void> {
    this.#pool ??= await this.#open()
    await this.#pool.query({ text: sql })
  }

  hear(channels: readonly string[], hearing: Hearing): (() => Promise<void>) | null {
    const { listenUrl } = this.#options
    if (listenUrl === null) return null
    const ear = new Ear(listenUrl, channels, hearing, this.#options.timeoutMs)
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
      () => this.#again(),
    )
  }

  #opened(): void {
    this.#retryMs = RETRY_MS_MIN
    if (!this.#closed) this.#hearing.opened()
  }

  async close(): Promise<void> {
    this.#closed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    const client = this.#client
    this.#client = null
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

/** 26000: no such prepared statement; 42P05: there is one already, of somebody else. */
function isLostPreparation(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown }
  return code === '26000' || code === '42P05'
}

export async function loadPg(): Promise<typeof Pg> {
  try {
    const loaded = (await import('pg')) as typeof Pg & { readonly default?: typeof Pg }
    return loaded.default ?? loaded
  } catch (error) {
    throw missingClient('pg', error)
  }
}
