import { beforeAll } from 'vitest'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { stormCases } from '../sql/storm.ts'
import { usePostgres } from './server.ts'

const bench = usePostgres()
beforeAll(async () => {
  const driver = postgres(bench.url)
  await driver.setup?.()
  await driver.close()
})

stormCases({
  url: () => bench.url,
  clients: ['pg', 'postgres'],
  async makeTable() {
    const admin = await bench.connect()
    await admin.query('CREATE TABLE counted (id int PRIMARY KEY, n int NOT NULL, version int NOT NULL)')
    await admin.query('INSERT INTO counted VALUES (1, 0, 0)')
  },
  async counted() {
    const admin = await bench.connect()
    const { rows } = await admin.query({
      text: 'SELECT n, version, (SELECT value::int FROM holdfast_cell) FROM counted',
      rowMode: 'array',
    })
    const [[n, version, cell] = []] = rows as number[][]
    return { n: Number(n), version: Number(version), cell: Number(cell) }
  },
  async terminate() {
    const admin = await bench.connect()
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = 'postgres'",
    )
  },
  async restart() {
    await bench.server.restart({ keepData: true })
  },
})
