/** Tokens rise through whatever becomes of the data, and what the server's clock may do to them and to holds. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Held, type Holdfast, holdfast, LockLostError } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { Clocks } from '../../../../holdfast-lab/src/torture/backend/clock.ts'

let bed: Testbed
let server: Server
const clocks = new Clocks()
const open: Holdfast[] = []

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['compiler'])
  bed = await testbed()
  server = await bed.redis()
})

afterAll(async () => {
  for (const hf of open) await hf.close()
  await bed?.close()
  await clocks.close()
})

async function on(url: string): Promise<Holdfast> {
  const hf = await holdfast(url)
  open.push(hf)
  return hf
}

const ask = (of: Server, ...command: string[]): Promise<string> => redisAsk(of.port, '', command)

async function tokenOf(hf: Holdfast, name: string): Promise<bigint> {
  const held = await hf.mutex(name).acquire()
  await held.release()
  return held.token
}

function lost(held: Held): Promise<void> {
  return new Promise((resolve) => {
    if (held.signal.aborted) resolve()
    else held.signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

test('FLUSHALL while held: the holder is told, the next token is higher', async () => {
  const hf = await on(server.url)
  const free = await tokenOf(hf, 'flushed-free')
  const held = await hf.mutex('flushed', { ttlMs: 600 }).acquire()
  await ask(server, 'FLUSHALL')
  await lost(held)
  expect(held.signal.reason).toBeInstanceOf(LockLostError)
  expect(await tokenOf(hf, 'flushed')).toBeGreaterThan(held.token)
  expect(await tokenOf(hf, 'flushed-free')).toBeGreaterThan(free)
})

test('evicted while held: the holder is told, the next token is higher', async () => {
  const full = await bed.redis({ config: { 'maxmemory-policy': 'allkeys-random' } })
  const hf = await on(full.url)
  const held = await hf.mutex('evicted', { ttlMs: 600 }).acquire()
  await ask(full, 'CONFIG', 'SET', 'maxmemory', '1')
  await expect
    .poll(
      async () => {
        // A write makes room first.
        await ask(full, 'SET', 'other', 'x')
        return ask(full, 'EXISTS', 'holdfast:{evicted}')
      },
      { timeout: 20_000 },
    )
    .toBe(':0\r\n')
  await ask(full, 'CONFIG', 'SET', 'maxmemory', '0')
  await lost(held)
  expect(await tokenOf(hf, 'evicted')).toBeGreaterThan(held.token)
})

test('a line that has given out a token beyond the time goes on from there', async () => {
  // What is left behind by a clock that was an hour ahead and was set right.
  const ahead = BigInt(Date.now() + 3_600_000) * 1_000n
  const record = Buffer.alloc(17)
  record.write('hf0')
  record.writeDoubleLE(Number(ahead), 9)
  const client = new Redis(server.port)
  await client.set('holdfast:{ahead}', record, 'PX', 60_000)
  client.disconnect()
  const hf = await on(server.url)
  const first = await hf.mutex('ahead').acquire()
  expect(first.token).toBeGreaterThan(ahead * 1_024n)
  const waiting = hf.mutex('ahead', { fairness: 'strict' }).acquire()
  await first.release()
  const second = await waiting
  expect(second.token).toBeGreaterThan(first.token)
  await second.release()
  expect(await tokenOf(hf, 'ahead')).toBeGreaterThan(second.token)
})

test('the server clock steps: tokens rise while the data are there; the one exception', async () => {
  const clock = await clocks.make('redis')
  if (clock.env === null) throw new Error(`not run: ${clock.lacks['clock-back']}`)
  const moved = await bed.redis({ env: clock.env })
  const hf = await on(moved.url)
  const timeOf = async (): Promise<number> => Number(/\$\d+\r\n(\d+)/.exec(await ask(moved, 'TIME'))?.[1])

  // Back by half of the retention, in steps, with somebody inside and somebody waiting.
  const held = await hf.mutex('stepped').acquire()
  const waiting = hf.mutex('stepped', { fairness: 'strict' }).acquire()
  await expect.poll(() => ask(moved, 'EXISTS', 'holdfast:{stepped}:q')).toBe(':1\r\n')
  const before = await timeOf()
  await clock.set(-30_000)
  expect(await timeOf()).toBeLessThan(before)
  held.assertHeld()
  expect(await held.release()).toBe(true)
  const next = await waiting
  expect(next.token).toBeGreaterThan(held.token)
  await next.release()
  await clock.set(-55_000)
  const third = await tokenOf(hf, 'stepped')
  expect(third).toBeGreaterThan(next.token)

  // The exception: the data are gone, and the clock is behind the last token.
  await ask(moved, 'FLUSHALL')
  await clock.set(-120_000)
  expect(await tokenOf(hf, 'stepped')).toBeLessThan(third)

  // Forward: the lease ends early, and the holder is told by its next heartbeat.
  await clock.set(0)
  const early = await hf.mutex('early', { ttlMs: 3_000 }).acquire()
  await clock.set(60_000)
  await lost(early)
  expect(await tokenOf(hf, 'early')).toBeGreaterThan(early.token)
})
