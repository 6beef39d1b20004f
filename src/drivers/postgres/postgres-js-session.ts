/** A session over `postgres`: the user's sql object, or one of our own. It listens and reconnects by itself. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type * as PostgresJs from 'postgres'
import { missingClient } from '../sql/missing.ts'
import type { PostgresSql } from './clients.ts'
import type { Hearing, Session, Statement } from './session.ts'

const RETRY_MS = 1_000

export interface PostgresJsOptions {
  readonly timeoutMs: number
  readonly connections: number
  readonly hears: boolean
}

/** A pool of our own, made when it is first needed. */
export function openPostgresJs(url: string, options: PostgresJsOptions): Session {
  let opened: Promise<OwnSql> | null = null
  const open = async (): Promise<OwnSql> => {
    const { default: makeSql } = await loadPostgresJs()
    return makeSql(url, {
      max: options.connections,
      connect_timeout: options.timeoutMs / 1_000,
      // Idle connections must not keep the process from ending; who awaits an answer has a timer that does.
      socket: unreferenced,
      // Its timers would keep it alive as well.
      max_lifetime: 0,
      onnotice: () => {},
      connection: { application_name: 'holdfast' },
    } as PostgresJs.Options<Record<string, never>>) as unknown as OwnSql
  }
  return new PostgresJsSession(
    () => (opened ??= open()),
    options.hears,
    async () => (await opened)?.end({ timeout: 1 }),
  )
}

/** A connected socket to the first host that is named. */
async function unreferenced({ host, port }: { host: string[]; port: number[] }): Promise<Socket> {
  const socket = connect({ host: host[0] ?? 'localhost', port: port[0] ?? 5_432, keepAlive: true }).unref()
  await once(socket, 'connect')
  return socket
}

type OwnSql = PostgresSql & { end(options: { timeout: number }): Promise<void> }

async function loadPostgresJs(): Promise<typeof PostgresJs> {
  try {
    return await import('postgres')
  } catch (error) {
    throw missingClient('postgres', error)
  }
}

export class PostgresJsSession implements Session {
  readonly #open: () => Promise<PostgresSql>
  readonly #hears: boolean
  readonly #end: () => Promise<void>

  constructor(open: () => Promise<PostgresSql>, hears: boolean, end: () => Promise<void>) {
    this.#open = open
    this.#hears = hears
    this.#end = end
  }

  async run(statement: Statement, values: readonly unknown[]): Promise<unknown[][]> {
    // Not prepared by force: the object's own `prepare` option, off behind a pooler, stays in force.
    return awaited(async () => {
      const sql = await this.#open()
      return [...(await sql.unsafe(statement.text, values as never[], preparing(sql)).values())]
    })
  }

  async script(text: string): Promise<void> {
    await awaited(async () => (await this.#open()).unsafe(text).simple())
  }

  hear(channels: readonly string[], hearing: Hearing): (() => Promise<void>) | null {
    if (!this.#hears) return null
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

/** The sockets let the process end; while somebody awaits an answer, it must not. */
async function awaited<T>(ask: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, 2 ** 30)
  try {
    return await ask()
  } finally {
    clearInterval(timer)
  }
}

function preparing(sql: PostgresSql): { prepare: boolean } {
  const { options } = sql as PostgresSql & { readonly options?: { readonly prepare?: boolean } }
  return { prepare: options?.prepare !== false }
}
