/** Settings of a session, or options of a pool, that are other than the server's and `mysql2`'s own. */
import { createPool, type PoolOptions } from 'mysql2'
import { beforeAll, describe } from 'vitest'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { type Pools, settingsCases } from '../sql/settings.ts'
import { type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
let admin: Plain
beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  admin = await bench.connect()
})

function pool(options: PoolOptions, session?: string): ReturnType<Pools[string]> {
  const made = createPool({ uri: bench.url, connectionLimit: 4, ...options })
  made.on('connection', (connection) => {
    if (session !== undefined) connection.query(`SET SESSION ${session}`)
  })
  return { driver: mysql(made), close: () => made.promise().end() }
}

const SETTINGS = [
  // What came by a connection after the first procedure stayed in a transaction that nobody committed.
  'completion_type = 1',
  // Each procedure ended its connection.
  'completion_type = 2',
  "sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT'",
  // A number out of range must end a joined statement, not be cut to what fits.
  "sql_mode = ''",
  "tx_isolation = 'READ-UNCOMMITTED'",
  "tx_isolation = 'REPEATABLE-READ'",
  "tx_isolation = 'SERIALIZABLE'",
  'sql_safe_updates = 1',
  "time_zone = '+05:45'",
]

settingsCases(() => mysql(bench.url), {
  ...Object.fromEntries(SETTINGS.map((setting) => [setting, () => pool({}, setting)])),
  'typeCast: false': () => pool({ typeCast: false }),
  'a typeCast of its own': () => pool({ typeCast: (field) => ({ text: field.string() }) }),
  // Rows came as objects, an answer was read as none, and each new try left a place behind.
  'nestTables: true': () => pool({ nestTables: true }),
  'nestTables: "_"': () => pool({ nestTables: '_' }),
  'namedPlaceholders: true': () => pool({ namedPlaceholders: true }),
})

describe('connections of our own, on a server that chains transactions', () => {
  beforeAll(async () => {
    await admin.ask('SET GLOBAL completion_type = 1')
  })
  settingsCases(() => mysql(bench.url), {
    'completion_type = 1': () => {
      const driver = mysql(bench.url)
      return { driver, close: async () => {} }
    },
  })
})
