import { beforeAll } from 'vitest'
import { mysql } from '../../../src/stores/mysql/index.ts'
import { stormCases } from '../sql/storm.ts'
import { useMariadb } from './server.ts'

const bench = useMariadb()
beforeAll(async () => {
  const driver = mysql(bench.url)
  await driver.setup?.()
  await driver.close()
})

stormCases({
  url: () => bench.url,
  clients: [undefined],
  async makeTable() {
    const admin = await bench.connect()
    await admin.ask('CREATE TABLE counted (id INT PRIMARY KEY, n INT NOT NULL, version INT NOT NULL) ENGINE = InnoDB')
    await admin.ask('INSERT INTO counted VALUES (1, 0, 0)')
  },
  async counted() {
    const admin = await bench.connect()
    const [[n, version, cell] = []] = await admin.ask(
      'SELECT n, version, (SELECT value FROM holdfast_cell) FROM counted',
    )
    return { n: Number(n), version: Number(version), cell: Number(cell) }
  },
  async terminate() {
    const admin = await bench.connect()
    const ids = await admin.ask(
      'SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() AND user = "root"',
    )
    for (const [id] of ids) await admin.ask(`KILL CONNECTION ${String(id)}`).catch(() => [])
  },
  async restart() {
    await bench.server.restart({ keepData: true })
  },
})
