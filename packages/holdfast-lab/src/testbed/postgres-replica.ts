/** A PostgreSQL primary with a streaming standby, asynchronous or synchronous, that can lag and be promoted. */
import type { Bed } from './bed.ts'
import { startFront } from './front.ts'
import { type PostgresOptions, postgresServer } from './postgres.ts'
import { type FaultProxy, faultProxy } from './proxy.ts'
import type { PromoteOptions, ReplicaPair } from './replica-pair.ts'
import type { Server } from './server.ts'
import { until } from './until.ts'

export interface PostgresReplicaOptions extends Omit<PostgresOptions, 'standbyOf'> {
  /** A commit is answered only when the standby has it (`synchronous_standby_names = '*'`); default false. */
  readonly synchronous?: boolean
  /** Environment of the second server; default: that of the first. */
  readonly standbyEnv?: Readonly<Record<string, string>>
}

export async function startPostgresReplica(bed: Bed, o: PostgresReplicaOptions = {}): Promise<ReplicaPair> {
  const { synchronous = false, standbyEnv = o.env, ...options } = o
  let stream: FaultProxy | null = null
  // A standby that lost its primary for a moment is back soon, and not after 5 s.
  const config = { wal_retrieve_retry_interval: '200ms', ...o.config }
  const follow = { config, standbyOf: (): { readonly port: number } | null => stream }
  const servers = [
    await postgresServer(bed, { ...options, ...follow }),
    await postgresServer(bed, { ...options, ...follow, ...(standbyEnv === undefined ? {} : { env: standbyEnv }) }),
  ] as const
  let [primary, replica]: readonly [Server, Server] = servers
  await primary.start()
  const front = await startFront(primary)
  /** Makes the data folder anew, as a copy of the primary that continues through the stream. */
  const join = async (): Promise<void> => {
    await stream?.close()
    stream = await faultProxy({ port: primary.port })
    await replica.restart({ keepData: false })
    await until(() => expectOne(primary, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"), {
      what: `${replica.name} follows ${primary.name}`,
    })
    // Only now: the copy must not have this setting, or it would wait for a standby of its own once it is promoted.
    if (synchronous) await setSynchronous(primary)
  }
  await join()
  return {
    url: `postgres://postgres@127.0.0.1:${front.port}/postgres`,
    servers,
    front,
    get primary() {
      return primary
    },
    get replica() {
      return replica
    },
    get stream() {
      return stream as FaultProxy
    },
    async caughtUp() {
      const [[position] = []] = await postgresAsk(primary, 'SELECT pg_current_wal_flush_lsn()')
      const sql = `SELECT (pg_last_wal_replay_lsn() >= '${String(position)}'::pg_lsn)::int`
      await until(() => expectOne(replica, sql), { what: `${replica.name} has all that ${primary.name} has` })
    },
    async promote({ cut = true }: PromoteOptions = {}) {
      await postgresAsk(replica, 'SELECT pg_promote(true, 60)')
      ;[primary, replica] = [replica, primary]
      front.leadTo(primary, cut)
    },
    async rejoin() {
      await replica.kill()
      await join()
    },
    close() {
      front.close()
    },
  }
}

async function setSynchronous(primary: Server): Promise<void> {
  await postgresAsk(primary, "ALTER SYSTEM SET synchronous_standby_names = '*'")
  await postgresAsk(primary, 'SELECT pg_reload_conf()')
  const sql = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
  await until(() => expectOne(primary, sql), { what: `${primary.name} waits for its standby` })
}

async function expectOne(server: Server, sql: string): Promise<void> {
  const said = (await postgresAsk(server, sql)).flat()
  if (Number(said[0]) !== 1) throw new Error(`${sql}: ${said.join()}`)
}

/** One question to a PostgreSQL server; rows as arrays. */
export async function postgresAsk(server: Server, text: string): Promise<unknown[][]> {
  // Loaded only here: who starts other servers need not have the package.
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: server.url, connectionTimeoutMillis: 5_000 })
  // The server may go while it is asked; the query rejects then.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}
