/** PostgreSQL: does a commit last, is there a pooler in between, and does the server cut off statements that wait? */
import type { Client } from 'pg'
import type { StoreUrl } from '../store-url.ts'
import { loadPg } from '../stores/sql/postgres/pg-session.ts'
import type { Chart } from './finding.ts'
import { checkRoundTrips } from './round-trips.ts'

const TIMEOUT_MS = 5_000

export async function checkPostgres(chart: Chart, url: StoreUrl): Promise<void> {
  const pg = await loadPg()
  const { sslmode, sslrootcert, sslcert, sslkey } = url.settings
  const tls = Object.entries({ sslmode, sslrootcert, sslcert, sslkey }).filter(([, value]) => value !== undefined)
  const query = tls.length === 0 ? '' : `?${new URLSearchParams(tls as [string, string][]).toString()}`
  const make = async (): Promise<Client> => {
    const client = new pg.Client({
      connectionString: `postgres:${url.rest}${query}`,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
    })
    // If an idle connection breaks, the next query reports it.
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const clients = [await make()]
  try {
    const [first] = clients as [Client]
    await checkRoundTrips(chart, 'postgres', async () =>
      Number(await one(first, 'SELECT extract(epoch FROM clock_timestamp()) * 1000')),
    )
    clients.push(await make())
    await checkPooler(chart, clients as [Client, Client], url)
    if (!(await checkRole(chart, first))) return
    await checkDurability(chart, first)
    await checkTimeouts(chart, first)
    await checkStandbys(chart, first)
  } finally {
    for (const client of clients) await client.end()
  }
}

async function one(client: Client, text: string): Promise<string> {
  const { rows } = await client.query({ text, rowMode: 'array' })
  return String(rows[0]?.[0])
}

/**
 * Finds a pooler. A pooler invents the process number that it reports; a pooler that shares connections shows two
 * clients the same server process.
 */
async function checkPooler(chart: Chart, [a, b]: readonly [Client, Client], url: StoreUrl): Promise<void> {
  const pids = new Set<string>()
  for (let i = 0; i < 3; i++) for (const client of [a, b]) pids.add(await one(client, 'SELECT pg_backend_pid()'))
  const own = await one(a, 'SELECT pg_backend_pid()')
  if (String(a.processID) === own) {
    chart.ok('postgres.pooler', 'connections lead to the server itself')
    return
  }
  if (pids.size >= 2) {
    const why = 'in session mode it works like the server itself; in transaction mode waiters get no wake-ups'
    chart.note(
      'postgres.pooler',
      'a pooler stands in between, and gives each client a connection',
      why,
      'give ?listenUrl= a URL of the server itself, if waiters are slow',
    )
    return
  }
  const found = 'a pooler in transaction mode stands in between'
  if (url.settings['listenUrl'] !== undefined) {
    chart.ok('postgres.pooler', `${found}; wake-ups come by listenUrl`)
    return
  }
  const why =
    'LISTEN does not pass through: waiters get no wake-ups and must poll; session locks are not safe through it'
  chart.warning('postgres.pooler', found, why, 'give ?listenUrl= a URL of the server itself')
}

async function checkRole(chart: Chart, client: Client): Promise<boolean> {
  if ((await one(client, 'SELECT pg_is_in_recovery()')) === 'false') return true
  const why = 'a standby takes no writes, so no locks'
  chart.danger('postgres.role', 'the server is a standby', why, 'give the primary, or target_session_attrs=read-write')
  return false
}

const FORGETS = 'after a crash the newest locks are forgotten: their holders go on, and others get the same locks'

async function checkDurability(chart: Chart, client: Client): Promise<void> {
  const commit = await one(client, "SELECT current_setting('synchronous_commit')")
  if (commit === 'off') {
    const todo = 'ALTER ROLE … SET synchronous_commit = on for the user that takes locks'
    chart.danger('postgres.synchronous_commit', 'synchronous_commit is off', FORGETS, todo)
  } else {
    chart.ok('postgres.synchronous_commit', `synchronous_commit is ${commit}`)
  }
  const fsync = await one(client, "SELECT current_setting('fsync')")
  if (fsync === 'off')
    chart.danger('postgres.fsync', 'fsync is off', `${FORGETS}, and data may be corrupt`, 'fsync = on')
  else chart.ok('postgres.fsync', 'fsync is on')
}

const TIMEOUTS = [
  ['statement_timeout', 'a statement that is cut off while it waits for a row counts as an error of the store'],
  ['lock_timeout', 'a statement that waits for the row of a busy lock is cut off, and counts as an error of the store'],
  [
    'idle_in_transaction_session_timeout',
    'locks that a transaction holds (takeInTransaction) end with their connection',
  ],
  ['idle_session_timeout', 'the connection that hears wake-ups is idle by nature: cut off, waiters are late'],
] as const

async function checkTimeouts(chart: Chart, client: Client): Promise<void> {
  let isSound = true
  for (const [name, why] of TIMEOUTS) {
    const sql = `SELECT setting::bigint FROM pg_settings WHERE name = '${name}'`
    const ms = Number(await one(client, sql))
    if (Number.isNaN(ms) || ms === 0 || ms >= TIMEOUT_MS * 2) continue
    isSound = false
    const todo = `ALTER ROLE … SET ${name} = 0 for the user that takes locks, or at least 10 s`
    chart.warning(`postgres.${name}`, `${name} is ${ms} ms`, why, todo)
  }
  if (isSound) chart.ok('postgres.timeouts', 'no time-out cuts off those that wait')
}

async function checkStandbys(chart: Chart, client: Client): Promise<void> {
  const count = Number(await one(client, 'SELECT count(*) FROM pg_stat_replication'))
  const names = await one(client, "SELECT current_setting('synchronous_standby_names')")
  if (count === 0 || names !== '') {
    chart.ok(
      'postgres.standbys',
      count === 0 ? 'no standbys: nothing can be promoted that lacks a lock' : `synchronous: ${names}`,
    )
    return
  }
  const why = 'a failover to a standby that lags forgets the newest locks, and two may hold at once'
  chart.warning(
    'postgres.standbys',
    `${count} standbys, none of them synchronous`,
    why,
    'set synchronous_standby_names, and fence what the lock protects',
  )
}
