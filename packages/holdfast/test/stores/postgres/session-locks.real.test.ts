import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { lockInTransaction, sessionLocks } from '../../../src/stores/postgres/index.ts'
import { freePort } from '../../../../holdfast-lab/src/testbed/port.ts'
import { sessionLockCases } from '../sql/session-locks.ts'
import { usePostgres } from './server.ts'

const bench = usePostgres()
let admin: Client
beforeAll(async () => {
  admin = await bench.connect()
})

sessionLockCases({
  url: () => bench.url,
  make: sessionLocks,
  async terminate() {
    await admin.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'holdfast session'",
    )
  },
  async waiting(count) {
    for (;;) {
      const { rows } = await admin.query({
        text: "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted",
        rowMode: 'array',
      })
      if (rows.length >= count) return
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  },
})

test('a lock of a session and one of a transaction by the same name exclude each other', async () => {
  await using locks = sessionLocks(bench.url)
  const client = await bench.connect()
  await client.query('BEGIN')
  await lockInTransaction(client as never, 'shared')
  expect(await locks.tryAcquire('shared')).toBeNull()
  await client.query('COMMIT')
  await (await locks.acquire('shared')).release()
})

test('a pooler, which tells a number of its own for the session, is refused', async () => {
  const { port } = new URL(bench.url)
  // Passes everything on, but for the process number in BackendKeyData ('K', length 12).
  const server = createServer((socket) => {
    const upstream = connect(Number(port), '127.0.0.1')
    for (const end of [socket, upstream]) end.on('error', () => end.destroy())
    socket.pipe(upstream)
    upstream.on('data', (bytes: Buffer) => {
      const at = bytes.indexOf(Buffer.from('K\0\0\0\f', 'latin1'))
      if (at !== -1) bytes.writeInt32BE(7, at + 5)
      socket.write(bytes)
    })
    upstream.on('close', () => socket.destroy())
  })
  const pooler = await freePort()
  server.listen(pooler, '127.0.0.1')
  await once(server, 'listening')
  afterAll(() => server.close())
  await using locks = sessionLocks(bench.url.replace(`:${port}`, `:${pooler}`))
  await expect(locks.acquire('pooled')).rejects.toBeInstanceOf(UsageError)
})
