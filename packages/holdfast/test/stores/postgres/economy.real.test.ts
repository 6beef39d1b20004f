import type { Client } from 'pg'
import { beforeAll } from 'vitest'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { economyCases } from '../sql/economy.ts'
import { usePostgres } from './server.ts'

const bench = usePostgres({ config: { shared_preload_libraries: 'pg_stat_statements' } })
let admin: Client
beforeAll(async () => {
  admin = await bench.connect()
  await admin.query('CREATE EXTENSION pg_stat_statements')
})

economyCases({
  url: () => bench.url,
  driver: () => postgres(bench.url, { listenUrl: false }),
  async statements() {
    const { rows } = await admin.query({
      text: "SELECT sum(calls)::int FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'",
      rowMode: 'array',
    })
    return Number(rows[0]?.[0])
  },
})
