import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LockLostError, UnsupportedError, UsageError } from '../../../src/core/errors.ts'
import type { LockOptions } from '../../../src/core/options.ts'
import { type EtcdLayout, type EtcdStore, etcd } from '../../../src/drivers/etcd/index.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { skipped } from '../../../src/testbed/require.ts'
import { lineOf, lossOf, oneMember, rawClient, Room } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

async function openAs(layout: EtcdLayout): Promise<{ store: EtcdStore; hf: Holdfast }> {
  const store = await etcd({ url, layout })
  const hf = makeInstance(store, {})
  onTestFinished(() => hf.close())
  return { store, hf }
}

const endpoint = (): string => url.replace('etcd:', 'http:')
const ENV = { ...process.env, ETCDCTL_API: '3' }

describe.skipIf(skipped('etcd'))('go: shared with etcdctl lock', () => {
  test('etcdctl waits for our hold, and we for its, in the order of asking', async () => {
    const { hf } = await openAs('go')
    const name = 'shared/deploy'
    const ours = await hf.mutex(name).acquire()
    const theirs = spawn('etcdctl', ['--endpoints', endpoint(), 'lock', name], { env: ENV })
    onTestFinished(() => void theirs.kill('SIGKILL'))
    const told = once(theirs.stdout, 'data')
    await expect.poll(async () => (await lineOf(hf, name)).waiters.length, { timeout: 30_000 }).toBe(1)
    expect(await hf.mutex(name).tryAcquire()).toBeNull()
    const next = hf.mutex(name, { fairness: 'strict' }).acquire()
    await expect.poll(async () => (await lineOf(hf, name)).waiters.length, { timeout: 30_000 }).toBe(2)
    await ours.release()
    // It prints its key once it holds, and lets go when it is interrupted.
    expect(String((await told)[0])).toContain(`${name}/`)
    expect((await lineOf(hf, name)).waiters).toHaveLength(1)
    theirs.kill('SIGINT')
    const held = await next
    expect(held.token).toBeGreaterThan(ours.token)
    const after = promisify(execFile)('etcdctl', ['--endpoints', endpoint(), 'lock', name, 'echo', 'after'], {
      env: ENV,
    })
    await expect.poll(async () => (await lineOf(hf, name)).waiters.length, { timeout: 30_000 }).toBe(1)
    await held.release()
    expect((await after).stdout).toContain('after')
  })

  test('no semaphores and no read locks there, and no list of everything', async () => {
    const { hf } = await openAs('go')
    expect(() => hf.semaphore('s', 2)).toThrow(UnsupportedError)
    await expect(hf.rwLock('rw').read.acquire()).rejects.toThrow(UnsupportedError)
    await expect(lineOf(hf, '')).rejects.toThrow(UnsupportedError)
    const cell = hf.cell<number>('c')
    expect(await cell.write(1, 0n)).not.toBeNull()
  })
})

describe.skipIf(skipped('etcd'))('key: the fixed-key recipe', () => {
  test('one holder, tries are refused, waiters ask again, tokens rise, a line of the same name is another lock', async () => {
    const [{ hf: a }, { hf: b }, { hf: line }] = [await openAs('key'), await openAs('key'), await openAs('line')]
    const held = await a.mutex('k').acquire()
    expect(await b.mutex('k').tryAcquire()).toBeNull()
    const other = await line.mutex('k').tryAcquire()
    expect(other).not.toBeNull()
    const next = b.mutex('k').acquire()
    expect((await lineOf(b, 'k')).holders).toMatchObject([{ token: held.token, pid: process.pid }])
    expect(await held.release()).toBe(true)
    const second = await next
    expect(second.token).toBeGreaterThan(held.token)
    expect(await second.release()).toBe(true)
    expect((await lineOf(a, 'k')).holders).toEqual([])
    await other?.release()
  })

  test('a crowd: one at a time; renewed while held; lost when the key goes', async () => {
    const [{ hf: a }, { hf: b }] = [await openAs('key'), await openAs('key')]
    const room = new Room()
    await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        (i % 2 === 0 ? a : b).mutex('crowd').using(({ token }) => room.visit(token)),
      ),
    )
    expect(room.most).toBe(1)
    expect(room.tokensRise).toBe(true)
    const held = await a.mutex('crowd', { ttlMs: 1_000 }).acquire()
    const end = performance.now() + 2_500
    while (performance.now() < end) expect(await b.mutex('crowd').tryAcquire()).toBeNull()
    held.assertHeld()
    await rawClient(url).deleteRange({ key: Buffer.from('holdfast/key/crowd') })
    expect(await lossOf(held)).toBeInstanceOf(LockLostError)
    const broken = await a.mutex('crowd', { ttlMs: 1_000 }).acquire()
    expect(await b.break('crowd')).toBe(1)
    expect(await lossOf(broken)).toBeInstanceOf(LockLostError)
    await (await b.mutex('crowd').acquire()).release()
    await expect(a.rwLock('rw').read.acquire()).rejects.toThrow(UnsupportedError)
  })
})

describe.skipIf(skipped('etcd'))('guard', () => {
  test.each(['line', 'key', 'go'] as const)(
    '%s: a write that carries it happens only while the place stands',
    async (layout) => {
      const { store, hf } = await openAs(layout)
      const client = rawClient(url)
      const key = Buffer.from(`data/${layout}`)
      const name = `guarded-${layout}`
      // Where nothing is in order, a place that is never handed on will do.
      const options: LockOptions = hf.traits.fair ? { fairness: 'strict' } : { handovers: 0 }
      const held = await hf.mutex(name, options).acquire()
      const guard = store.guard(held)
      const write = async (value: string, by = guard): Promise<boolean> => {
        const put = { key, value: Buffer.from(value) }
        return (await client.txn({ compare: [by.compare], success: [{ put }] })).succeeded
      }
      expect(await write('mine')).toBe(true)
      await held.release()
      expect(await write('late')).toBe(false)
      const next = await hf.mutex(name, options).acquire()
      expect(await write('still late')).toBe(false)
      expect(await write('next', store.guard(next))).toBe(true)
      expect(Buffer.from((await client.range({ key })).kvs[0]?.value ?? '').toString()).toBe('next')
      await next.release()
    },
  )

  test('a shared place has no guard, and what is not held has none', async () => {
    const { store, hf } = await openAs('line')
    const mutex = hf.mutex('shared')
    const first = await mutex.acquire()
    expect(() => store.guard(first)).toThrow(UsageError)
    const waiting = mutex.acquire()
    await first.release()
    const second = await waiting
    expect(() => store.guard(second)).toThrow(UsageError)
    await second.release()
    const alone = await hf.mutex('shared', { fairness: 'strict' }).acquire()
    await alone.release()
    expect(() => store.guard(alone)).toThrow(LockLostError)
  })
})
