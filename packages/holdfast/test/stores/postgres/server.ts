/** A PostgreSQL server for one test file, and plain connections to it. */
import { Client } from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { PostgresOptions } from '../../../../holdfast-lab/src/testbed/postgres.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

export interface Bench {
  readonly server: Server
  readonly url: string
  /** A connection of its own, closed with the file. */
  connect(url?: string): Promise<Client>
}

/** Started before the first test of the file, stopped after the last. */
export function usePostgres(options?: PostgresOptions): Bench {
  let bed: Testbed
  let server: Server
  const clients: Client[] = []
  beforeAll(async () => {
    await requireServers(['postgres'])
    bed = await testbed()
    server = await bed.postgres(options)
  }, 600_000)
  afterAll(async () => {
    for (const client of clients) await client.end()
    await bed?.close()
  })
  return {
    get server() {
      return server
    },
    get url() {
      return server.url
    },
    async connect(url = server.url) {
      const client = new Client({ connectionString: url })
      // A server that is restarted by a test breaks its connections; that is the test's doing.
      client.on('error', () => {})
      await client.connect()
      clients.push(client)
      return client
    },
  }
}

/** Resolves once somebody waits for a lock on this server: the schedule is where it should be. */
export async function someoneWaits(observer: Client): Promise<void> {
  const end = performance.now() + 30_000
  for (;;) {
    const { rows } = await observer.query({
      text: "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'",
      rowMode: 'array',
    })
    if (rows.length > 0) return
    if (performance.now() > end) throw new Error('nobody waits for a lock')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
