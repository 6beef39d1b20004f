/** The classic recipe, shared with redis-py's Lock (Debian's python3-redis). */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface, type Interface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setNx } from '../../../src/stores/redis/index.ts'
import { type Holdfast, holdfast, LockLostError, UnsupportedError } from '../../../src/index.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

/** Does what each line of its input says, and answers each with a line. */
const PROGRAM = `
import sys, redis
lock = redis.Redis(port=int(sys.argv[1])).lock(sys.argv[2], timeout=20)
for line in sys.stdin:
    order = line.strip()
    if order == 'acquire': print(lock.acquire(blocking=True, blocking_timeout=20), flush=True)
    elif order == 'try': print(lock.acquire(blocking=False), flush=True)
    elif order == 'release':
        try:
            lock.release(); print('released', flush=True)
        except redis.exceptions.LockError as error: print(type(error).__name__, flush=True)
`

/** Debian's own: another python3 on the path does not see its packages. */
const PYTHON = '/usr/bin/python3'

let bed: Testbed
let server: Server
let hf: Holdfast

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['redis-py'])
  bed = await testbed()
  server = await bed.redis()
  hf = await holdfast(setNx(server.url))
})

afterAll(async () => {
  await hf?.close()
  await bed?.close()
})

class Python {
  readonly #child: ChildProcess
  readonly #lines: Interface

  constructor(key: string) {
    this.#child = spawn(PYTHON, ['-c', PROGRAM, String(server.port), key], { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })
  }

  async order(order: 'acquire' | 'try' | 'release'): Promise<string> {
    const answer = once(this.#lines, 'line')
    this.#child.stdin?.write(`${order}\n`)
    return String((await answer)[0])
  }

  async end(): Promise<void> {
    this.#child.stdin?.end()
    await once(this.#child, 'exit')
  }
}

test('excludes redis-py, and is excluded by it, in both directions and while waiting', async () => {
  const python = new Python('shared')
  const held = await hf.mutex('shared').acquire()
  expect(await python.order('try')).toBe('False')
  const theirs = python.order('acquire')
  expect(await held.release()).toBe(true)
  expect(await theirs).toBe('True')
  expect(await hf.mutex('shared').tryAcquire()).toBeNull()
  const ours = hf.mutex('shared').acquire()
  expect(await python.order('release')).toBe('released')
  const next = await ours
  expect(await python.order('release')).toBe('LockError')
  next.assertHeld()
  expect(await next.release()).toBe(true)
  expect(await redisAsk(server.port, '', ['EXISTS', 'shared'])).toBe(':0\r\n')
  await python.end()
})

test('is one plain string under the name itself, renewed while held', async () => {
  const held = await hf.mutex('plain', { ttlMs: 600 }).acquire()
  expect(await redisAsk(server.port, '', ['TYPE', 'plain'])).toBe('+string\r\n')
  const end = performance.now() + 1_500
  await expect.poll(() => performance.now() > end, { timeout: 5_000 }).toBe(true)
  held.assertHeld()
  await redisAsk(server.port, '', ['SET', 'plain', 'somebody else'])
  const lost = new Promise((resolve) => held.signal.addEventListener('abort', resolve, { once: true }))
  await lost
  expect(held.signal.reason).toBeInstanceOf(LockLostError)
  expect(await redisAsk(server.port, '', ['GET', 'plain'])).toContain('somebody else')
})

test('says what it can not do', async () => {
  expect(hf.traits).toMatchObject({ fair: false, fenced: false, counting: false, push: 'none' })
  await expect(hf.rwLock('rw').read.acquire()).rejects.toBeInstanceOf(UnsupportedError)
  expect(() => hf.semaphore('s', 2)).toThrow(UnsupportedError)
  await expect(hf.cell('c').read()).rejects.toBeInstanceOf(UnsupportedError)
  await expect(hf.break('plain')).rejects.toBeInstanceOf(UnsupportedError)
  expect(await hf.break('plain', { now: true })).toBe(1)
})
