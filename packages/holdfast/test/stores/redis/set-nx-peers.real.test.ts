/**
 * The classic recipe, shared with the packages redlock 5 and redis-semaphore: the rolling way over, in both directions.
 */
import { Redis } from 'ioredis5'
import { Mutex } from 'redis-semaphore'
import * as redlock5 from 'redlock'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import type * as compat from '../../../src/compat/redlock/index.ts'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { setNx } from '../../../src/stores/redis/index.ts'

const { default: Redlock, ExecutionError } = redlock5 as unknown as typeof compat

let bed: Testbed
let server: Server
let client: Redis
let hf: Holdfast

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis()
  client = new Redis({ port: server.port })
  hf = await holdfast(setNx(server.url))
})

afterAll(async () => {
  await hf?.close()
  client?.disconnect()
  await bed?.close()
})

test('excludes redlock 5, and is excluded by it; each waits for the other', async () => {
  const patient = { retryCount: -1, retryDelay: 20, retryJitter: 10 }
  const redlock = new Redlock([client], { retryCount: 0 })
  const held = await hf.mutex('shared', { ttlMs: 1_000 }).acquire()
  await expect(redlock.acquire(['shared'], 5_000)).rejects.toBeInstanceOf(ExecutionError)
  // Renewed here, it outlasts its lease there as well.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  await expect(redlock.acquire(['shared'], 5_000)).rejects.toBeInstanceOf(ExecutionError)
  const theirs = redlock.acquire(['shared'], 20_000, patient)
  expect(await held.release()).toBe(true)
  const lock = await theirs
  expect(await hf.mutex('shared').tryAcquire()).toBeNull()
  const ours = hf.mutex('shared').acquire()
  await lock.release()
  const next = await ours
  await expect(lock.release()).rejects.toBeInstanceOf(ExecutionError)
  next.assertHeld()
  expect(await next.release()).toBe(true)
  expect(await client.exists('shared')).toBe(0)
})

test('excludes redis-semaphore, and is excluded by it: its mutex NAME is our mutex:NAME', async () => {
  const their = new Mutex(client as never, 'job', { acquireTimeout: 20_000, lockTimeout: 1_000, refreshInterval: 200 })
  const ours = hf.mutex('mutex:job')
  const held = await ours.acquire()
  // It goes on trying for all of its time-out: one attempt is asked for.
  const once = new Mutex(client as never, 'job', { acquireAttemptsLimit: 1 })
  expect(await once.tryAcquire()).toBe(false)
  const waiting = their.acquire()
  expect(await held.release()).toBe(true)
  await waiting
  // Refreshed there, it outlasts its lease here as well.
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(await ours.tryAcquire()).toBeNull()
  const next = ours.acquire()
  await their.release()
  expect(await (await next).release()).toBe(true)
  expect(await client.exists('mutex:job')).toBe(0)
})
