/**
 * A primary and its streaming standby: the name of the store leads to the standby, for a while or for good, and the
 * driver comes back.
 */
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreError } from '../../../src/contract/errors.ts'
import { postgres, type PostgresOptions } from '../../../src/stores/postgres/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { type Front, startFront } from '../../../../holdfast-lab/src/testbed/front.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed
let primary: Server
let standby: Server
let front: Front
const open: Holdfast[] = []

beforeAll(async () => {
  await requireServers(['postgres'])
  bed = await testbed()
  primary = await bed.postgres()
  const driver = postgres(primary.url)
  await driver.setup?.()
  await driver.close()
  standby = await bed.postgres({ standbyOf: primary })
  front = await startFront(primary)
}, 600_000)

afterAll(async () => {
  for (const hf of open) await hf.close()
  front?.close()
  await bed?.close()
})

async function hold(options: PostgresOptions = {}): Promise<Holdfast> {
  const hf = await holdfast(postgres(`postgres://postgres@127.0.0.1:${front.port}/postgres`, options))
  open.push(hf)
  return hf
}

async function ask(server: Server, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

/** Whether the lock can be had, also after what it was refused before. */
function serves(hf: Holdfast, name: string): Promise<boolean> {
  return hf
    .mutex(name)
    .tryAcquire()
    .then(
      async (held) => (await held?.release()) ?? false,
      () => false,
    )
}

test.each(['pg', 'postgres'] as const)('through %s: demoted for a while, connections left open', async (client) => {
  front.leadTo(standby)
  // A standby refuses LISTEN as well. Who waited all that time for it would be too late for this test.
  const hf = await hold({ client, timeoutMs: 600_000 })
  for (let i = 0; i < 3; i++) await expect(hf.mutex('demoted').acquire()).rejects.toThrow(/read-only.*primary/)
  // Several connections, all of them to the standby, which will never take a write.
  await Promise.allSettled(Array.from({ length: 20 }, (_, i) => hf.mutex(`demoted ${i}`).acquire()))
  front.leadTo(primary)
  await expect.poll(() => serves(hf, 'demoted'), { timeout: 30_000 }).toBe(true)
  for (let i = 0; i < 30; i++) await (await hf.mutex(`again ${i}`).acquire()).release()
})

// Last: there is no way back from it.
test('failover: who holds goes on, who waits is served, and tokens rise', async () => {
  front.leadTo(primary)
  const [a, b] = [await hold(), await hold()]
  const held = await a.mutex('kept', { ttlMs: 60_000 }).acquire()
  const waiting = b.mutex('kept', { ttlMs: 60_000 }).acquire()
  // What the standby has not got is lost with the primary; here it has got all.
  await expect.poll(() => ask(standby, 'SELECT count(*)::int FROM holdfast_place'), { timeout: 30_000 }).toEqual([2])
  await primary.kill()
  front.leadTo(standby)
  await expect
    .poll(
      () =>
        a
          .mutex('other')
          .tryAcquire()
          .catch((error: unknown) => error),
      { timeout: 30_000 },
    )
    .toBeInstanceOf(StoreError)
  expect(await ask(standby, 'SELECT pg_promote()')).toEqual([true])
  await expect.poll(() => serves(a, 'another'), { timeout: 30_000 }).toBe(true)
  held.assertHeld()
  expect(await held.release()).toBe(true)
  const next = await waiting
  expect(next.token).toBeGreaterThan(held.token)
  await next.release()
})
