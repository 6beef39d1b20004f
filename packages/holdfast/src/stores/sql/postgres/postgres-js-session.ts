/** A session over `postgres`: the user's sql object, or one of our own. It listens and reconnects by itself. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type * as PostgresJs from 'postgres'
import { answerWithin } from '../deadline.ts'
import { loadPeer } from '../../shared/peer.ts'
import type { PostgresRows, PostgresSql } from './clients.ts'
import { isReadOnly } from './errors.ts'
import type { Reply, Statement } from '../session.ts'
import type { Hearing, PostgresSession } from './session.ts'
import { secureUrl } from './tls.ts'

const RETRY_MS = 1_000

export interface PostgresJsOptions {
  readonly timeoutMs: number
  readonly connections: number
  readonly hears: boolean
}

/** A pool of our own, made when it is first needed. */
export function openPostgresJs(given: string, options: PostgresJsOptions): PostgresSession {
  const { url, ssl } = secureUrl(given)
  let opened: Promise<OwnSql> | null = null
  const open = async (): Promise<OwnSql> => {
    const makeSql = loadPostgresJs()
    return makeSql(url, {
      ...(ssl === undefined ? {} : { ssl }),
      max: options.connections,
      connect_timeout: options.timeoutMs / 1_000,
      // Idle connections must not keep the process from ending; who awaits an answer has a timer that does.
      socket: unreferenced,
      // Its timers would keep it alive as well.
      max_lifetime: 0,
      // It asks for them behind our back: a connection that breaks meanwhile would be an unhandled rejection. We pass
      // no arrays.
      fetch_types: false,
      onnotice: () => {},
      connection: { application_name: 'holdfast' },
    } as PostgresJs.Options<Record<string, never>>) as unknown as OwnSql
  }
  /** A demoted server keeps its connections open, and the package can't drop single ones: all are made anew. */
  const renew = (): void => {
    const old = opened
    opened = null
    old?.then((sql) => sql.end({ timeout: options.timeoutMs / 1_000 })).catch(ignored)
  }
  return new PostgresJsSession(
    () => (opened ??= open()),
    options,
    async () => (await opened)?.end({ timeout: 1 }),
    renew,
  )
}

/** An object that was given stays open. */
export function givenPostgresJs(sql: PostgresSql, options: PostgresJsOptions): PostgresSession {
  return new PostgresJsSession(
    async () => sql,
    options,
    async () => {},
  )
}

/** A connected socket to the first host that is named. */
async function unreferenced({ host, port }: { host: string[]; port: number[] }): Promise<Socket> {
  const socket = connect({ host: host[0] ?? 'localhost', port: port[0] ?? 5_432, keepAlive: true }).unref()
  await once(socket, 'connect')
  return socket
}

type OwnSql = PostgresSql & { end(options: { timeout: number }): Promise<void> }

function loadPostgresJs(): typeof PostgresJs.default {
  return loadPeer('postgres') as typeof PostgresJs.default
}

class PostgresJsSession implements PostgresSession {
  readonly #open: () => Promise<PostgresSql>
  readonly #options: PostgresJsOptions
  readonly #end: () => Promise<void>
  readonly #renew: (() => void) | null
  #listenAnew: (() => void) | null = null

  constructor(
    open: () => Promise<PostgresSql>,
    options: PostgresJsOptions,
    end: () => Promise<void>,
    renew: (() => void) | null = null,
  ) {
    this.#open = open
    this.#options = options
    this.#end = end
    this.#renew = renew
  }

  /** What was asked of connections that have been replaced since says nothing about those that are there now. */
  async #refused(sql: PostgresSql): Promise<void> {
    if (this.#renew === null || (await this.#open()) !== sql) return
    this.#renew()
    this.#listenAnew?.()
  }

  async run(statement: Statement, values: readonly unknown[]): Promise<Reply> {
    const rows = await this.#ask(statement, values)
    return { rows: [...rows], changed: rows.count ?? 0, seat: null }
  }

  #ask(statement: Statement, values: readonly unknown[]): Promise<PostgresRows> {
    const ask = async (): Promise<PostgresRows> => {
      const sql = await this.#open()
      // Not prepared by force: the object's own `prepare` option, off behind a pooler, stays in force.
      try {
        return await sql.unsafe(statement.text, values as never[], { prepare: isPreparing(sql) }).values()
      } catch (error) {
        if (isReadOnly(error)) await this.#refused(sql)
        throw error
      }
    }
    // Its sockets let the process end; the timer does not, while somebody awaits an answer.
    return answerWithin(ask(), this.#options.timeoutMs, 'postgres')
  }

  async script(text: string): Promise<void> {
    const ask = async (): Promise<unknown> => (await this.#open()).unsafe(text).simple()
    await answerWithin(ask(), this.#options.timeoutMs, 'postgres')
  }

  hear(channels: readonly string[], hearing: Hearing): (() => Promise<void>) | null {
    if (!this.#options.hears) return null
    let closed = false
    const stops: (() => PromiseLike<void>)[] = []
    const timers = new Set<NodeJS.Timeout>()
    const listen = async (channel: string): Promise<void> => {
      const heard = (payload: string): void => hearing.heard(channel, payload)
      const sql = await this.#open()
      const { unlisten } = await sql.listen(channel, heard, () => !closed && hearing.opened())
      stops.push(unlisten)
    }
    const open = (channel: string): void => {
      listen(channel).catch(() => {
        hearing.lost()
        if (closed) return
        const timer = setTimeout(() => {
          timers.delete(timer)
          open(channel)
        }, RETRY_MS).unref()
        timers.add(timer)
      })
    }
    for (const channel of channels) open(channel)
    this.#listenAnew = () => {
      if (closed) return
      hearing.lost()
      stops.length = 0
      for (const channel of channels) open(channel)
    }
    return async () => {
      closed = true
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(stops.map((stop) => stop()))
    }
  }

  close(): Promise<void> {
    return this.#end()
  }
}

function isPreparing(sql: PostgresSql): boolean {
  const { options } = sql as PostgresSql & { readonly options?: { readonly prepare?: boolean } }
  return options?.prepare !== false
}

/** Connections that are given up need not say farewell. */
function ignored(): void {}
