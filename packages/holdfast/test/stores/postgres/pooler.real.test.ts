/** Behind a transaction pooler, PgBouncer: everything but LISTEN goes through it. */
import postgresJs from 'postgres'
import { afterAll, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import type { Driver, Push } from '../../../src/contract/driver.ts'
import { postgres, sessionLocks } from '../../../src/stores/postgres/index.ts'
import { holdfast } from '../../../src/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['postgres', 'pgbouncer'])
const bed = await testbed()
const server = await bed.postgres()
// Fewer connections than a client of ours opens: statements of one client go to whichever is free.
const pooler = await bed.pgbouncer(server, { connections: 3 })
const setting = postgres(server.url)
await setting.setup?.()
await setting.close()
afterAll(() => bed.close())

const module = new URL('../../../build/src/stores/postgres/index.js', import.meta.url)

await conform('through PgBouncer, listening past it', { module, config: { url: pooler.url, listenUrl: server.url } })

// What polling has a part in; the statements are the same as above.
const POLLED = new Set(['exclusion', 'order', 'watch'])
await conform('through PgBouncer, polling', { module, config: { url: pooler.url, listenUrl: false } }, ({ law }) =>
  POLLED.has(law),
)

async function withDriver(driver: Driver, work: (driver: Driver) => Promise<void>): Promise<void> {
  try {
    await work(driver)
  } finally {
    await driver.close()
  }
}

test('many statements on their way in one connection of ours: each gets its own answer', async () => {
  await withDriver(postgres(pooler.url, { connections: 2, listenUrl: server.url }), async (driver) => {
    const keys = Array.from({ length: 300 }, (_, i) => `own answer ${i}`)
    for (const round of ['first', 'second', 'third']) {
      const written = await Promise.all(
        keys.map(async (key) => {
          const { version } = await driver.swap(key, null)
          const next = `${round} ${key}`
          return driver.swap(key, { version, next, ttlMs: 60_000, nonce: `${round}.${key}` })
        }),
      )
      expect(written.map(({ value }) => value)).toEqual(keys.map((key) => `${round} ${key}`))
    }
  })
})

test('a URL that leads to the pooler only: LISTEN is taken and delivers nothing, so it is polled', async () => {
  await withDriver(postgres(pooler.url), async (driver) => {
    const entry = (id: string) => ({ line: 'deaf', id, weight: 1, capacity: 1, ttlMs: 60_000, data: '{}' })
    const [holder, waiter] = [entry('0'.repeat(32)), entry('1'.repeat(32))]
    const woken = new Promise<Push | undefined>((resolve) => {
      void Promise.resolve(driver.watch('deaf', waiter.id, resolve))
    })
    await driver.enter(holder, true)
    const place = await driver.enter(waiter, true)
    await driver.leave(holder)
    const push = await woken
    // Some poolers hand the listening connection's messages on by chance; then it has to be the right one.
    if (push !== undefined) expect(push.token).toBe(place?.token)
    expect((await driver.touch([waiter]))[0]).toMatchObject({ ahead: 0 })
    await driver.leave(waiter)
  })
})

test('a postgres object without prepared statements: 40 contenders of two clients, one at a time', async () => {
  const sql = [0, 1].map(() => postgresJs(pooler.url, { prepare: false, max: 3, onnotice: () => {} }))
  const clients = await Promise.all(sql.map((one) => holdfast(postgres(one as never, { listenUrl: false }))))
  let inside = 0
  const visit = async (i: number): Promise<void> => {
    await clients[i % 2]?.mutex('pooled').using(async () => {
      expect(++inside).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    })
  }
  await Promise.all(Array.from({ length: 40 }, (_, i) => visit(i)))
  for (const client of clients) await client.close()
  for (const one of sql) await one.end()
})

test('session locks notice it, and refuse', async () => {
  await using locks = sessionLocks(pooler.url)
  await expect(locks.acquire('pooled')).rejects.toBeInstanceOf(UsageError)
})
