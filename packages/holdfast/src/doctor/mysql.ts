/** MySQL and MariaDB: does a commit last, how long may a connection be idle, and is it a cluster that merges writes? */
import type { Connection } from 'mysql2/promise'
import type { StoreUrl } from '../store-url.ts'
import { addressOf } from '../stores/sql/mysql/address.ts'
import { loadMysql } from '../stores/sql/mysql/session.ts'
import type { Chart } from './finding.ts'
import { checkRoundTrips } from './round-trips.ts'

const IDLE_S = 60

export async function checkMysql(chart: Chart, url: StoreUrl): Promise<void> {
  const { ca, cert, key } = url.settings
  const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== undefined) as [string, string][]
  const query = files.length === 0 ? '' : `?${new URLSearchParams(files).toString()}`
  await loadMysql()
  const { createConnection } = await import('mysql2/promise')
  const connection = await createConnection({
    ...addressOf(`${url.scheme}:${url.rest}${query}`),
    connectTimeout: 5_000,
  })
  try {
    await checkRoundTrips(chart, 'mysql', async () => {
      const [[row]] = (await connection.query('SELECT UNIX_TIMESTAMP(NOW(6)) * 1000 AS ms')) as unknown as [
        [{ ms: string }],
      ]
      return Number(row.ms)
    })
    const settings = await variables(connection)
    checkRole(chart, settings)
    checkDurability(chart, settings)
    checkSessions(chart, settings)
    checkGalera(chart, settings)
  } finally {
    await connection.end()
  }
}

type Variables = ReadonlyMap<string, string>

/** The global variables: new connections start with them. */
async function variables(connection: Connection): Promise<Variables> {
  const [rows] = (await connection.query('SHOW GLOBAL VARIABLES')) as unknown as [
    { Variable_name: string; Value: string }[],
  ]
  return new Map(rows.map(({ Variable_name: name, Value: value }) => [name.toLowerCase(), value]))
}

function checkRole(chart: Chart, settings: Variables): void {
  if (settings.get('read_only') === 'ON' || settings.get('super_read_only') === 'ON') {
    chart.danger('mysql.role', 'the server is read-only', 'it takes no writes, so no locks', 'give the primary')
  } else {
    chart.ok('mysql.role', `the server takes writes; version ${settings.get('version')}`)
  }
}

function checkDurability(chart: Chart, settings: Variables): void {
  const flush = settings.get('innodb_flush_log_at_trx_commit') ?? '1'
  if (flush === '1') {
    chart.ok('mysql.durability', 'each commit reaches the disk before it is answered')
    return
  }
  const crash = flush === '0' ? 'a crash of the server' : 'a loss of power'
  const why = `${crash} forgets the last second of locks: their holders go on, and others get the same locks`
  chart.warning('mysql.durability', `innodb_flush_log_at_trx_commit is ${flush}`, why, 'set it to 1')
}

function checkSessions(chart: Chart, settings: Variables): void {
  const autocommit = settings.get('autocommit') ?? 'ON'
  if (autocommit === 'ON') chart.ok('mysql.autocommit', 'autocommit is on')
  else {
    const why =
      'Holdfast turns it on for its own connections; with your own pool others see a lock only after your COMMIT'
    chart.note('mysql.autocommit', 'autocommit is off by default', why, 'SET GLOBAL autocommit = 1, or in init_connect')
  }
  const isolation = settings.get('transaction_isolation') ?? settings.get('tx_isolation') ?? ''
  if (isolation === 'SERIALIZABLE') {
    const why =
      'each look at a queue then locks its rows: callers of one lock wait for each other, and deadlocks are more'
    chart.note(
      'mysql.isolation',
      'the isolation is SERIALIZABLE by default',
      why,
      'READ COMMITTED for the user that takes locks',
    )
  } else {
    chart.ok('mysql.isolation', `the isolation is ${isolation}`)
  }
  const idleS = Number(settings.get('wait_timeout') ?? IDLE_S)
  if (idleS >= IDLE_S) chart.ok('mysql.wait_timeout', `idle connections are kept for ${idleS} s`)
  else {
    const why = 'connections end between two renewals: each lock pays for a new one, and session locks are lost'
    chart.warning(
      'mysql.wait_timeout',
      `wait_timeout is ${idleS} s`,
      why,
      `SET GLOBAL wait_timeout = ${IDLE_S} or more`,
    )
  }
}

function checkGalera(chart: Chart, settings: Variables): void {
  if (settings.get('wsrep_on') !== 'ON') return
  const why =
    'each node judges leases by its own clock: one that is ahead takes locks from their holders too early. Reads of ' +
    'another node may be late, and session locks (GET_LOCK) are known to one node only'
  chart.warning(
    'mysql.galera',
    'the server is a node of a Galera cluster',
    why,
    'keep the clocks of all nodes together (NTP), or send all locks to one node; guarded writes go to one node',
  )
}
