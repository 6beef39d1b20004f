/** Calls of one turn as one statement, on MariaDB. */
import { beforeAll } from 'vitest'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { joinedCases } from '../sql/joined.ts'
import { type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
let slow: Plain
let observer: Plain
beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
  slow = await bench.connect()
  observer = await bench.connect()
})

joinedCases({
  url: () => bench.url,
  driver: (url) => mysql(url, { timeoutMs: 20_000 }),
  async lockRow(line) {
    await slow.ask('BEGIN')
    await slow.ask('SELECT 1 FROM holdfast_line WHERE name = ? FOR UPDATE', [Buffer.from(line)])
    return () => slow.ask('COMMIT')
  },
  raiseFloor: (token) => observer.ask('UPDATE holdfast_meta SET floor = ?', [String(token)]),
  async deadlocks() {
    const [[count] = []] = await observer.ask(
      "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'lock_deadlocks'",
    )
    return Number(count)
  },
})
