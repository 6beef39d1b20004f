import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { LockLostError, UnsupportedError, UsageError } from '../../../src/contract/errors.ts'
import type { LockOptions } from '../../../src/contract/options.ts'
import { type EtcdLayout, type EtcdStore, etcd } from '../../../src/stores/etcd/index.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { lineOf, lossOf, oneMember, rawClient, Room } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

async function openAs(layout: EtcdLayout, prefix = 'holdfast'): Promise<{ store: EtcdStore; hf: Holdfast }> {
  const store = await etcd({ url, layout, prefix })
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

  test('a holder that is not Holdfast is broken with now only: never told, it would hold beside the next', async () => {
    const { hf } = await openAs('go')
    const name = 'foreign'
    const theirs = spawn('etcdctl', ['--endpoints', endpoint(), 'lock', '--ttl', '2', name], { env: ENV })
    onTestFinished(() => void theirs.kill('SIGKILL'))
    await once(theirs.stdout, 'data')
    await expect(hf.break(name)).rejects.toThrow(UnsupportedError)
    // Its lease is its own still: it holds for longer than that would last by itself.
    const end = performance.now() + 5_000
    while (performance.now() < end) expect(await hf.mutex(name).tryAcquire()).toBeNull()
    expect(await hf.break(name, { now: true })).toBe(1)
    await (await hf.mutex(name).acquire({ waitMs: 30_000 })).release()
    const ours = await hf.mutex(name, { ttlMs: 2_000 }).acquire()
    expect(await hf.break(name)).toBe(1)
    expect(await lossOf(ours)).toBeInstanceOf(LockLostError)
  })

  test('a break leaves nothing that a lock of any name would wait for; names of our keys are refused', async () => {
    const { hf } = await openAs('go', 'app/locks')
    const held = await hf.mutex('app/x', { ttlMs: 2_000 }).acquire()
    expect(await hf.break('app/x', { now: true })).toBe(1)
    await lossOf(held)
    for (const name of ['app', 'app/locks']) {
      const lock = ['--endpoints', endpoint(), 'lock', name, 'echo', 'had']
      const options = { env: ENV, timeout: 30_000 }
      expect((await promisify(execFile)('etcdctl', lock, options)).stdout).toContain('had')
    }
    await hf.cell<number>('abc').write(1, 0n)
    for (const name of ['app', 'app/locks', 'app/locks/cell']) {
      await expect(hf.mutex(name).acquire()).rejects.toThrow(UsageError)
      await expect(hf.break(name)).rejects.toThrow(UsageError)
    }
    await (await hf.mutex('app/locksmith').acquire({ waitMs: 30_000 })).release()
    await (await hf.mutex('app/locks/x').acquire({ waitMs: 30_000 })).release()
    const names: string[] = []
    for await (const line of hf.list({ prefix: 'app' })) names.push(line.name)
    expect(names).toEqual([])
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
  test('one holder, tries are refused, waiters ask again, tokens rise, a line of that name is separate', async () => {
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
