import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { StoreError, StoreUnreachableError, UsageError } from '../../../src/contract/errors.ts'
import { EtcdClient } from '../../../src/clients/etcd/index.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { lineOf, open, rawClient } from './rig.ts'

const PASSWORD = 'p@ss:/word'
let bed: Testbed

beforeAll(async () => {
  if (skipped('etcd')) return
  await requireServers(['etcd'])
  bed = await testbed()
})
afterAll(() => bed?.close())

const reason = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(() => null).catch((error: unknown) => error)

describe.skipIf(skipped('etcd'))('refusals', () => {
  test('nobody there: told by the deadline, with the address and without the password', async () => {
    // Nobody listens on port 1; a port that was free a moment ago may have become that of another test's server.
    const error = await reason(open(`etcd://me:${encodeURIComponent(PASSWORD)}@127.0.0.1:1`, { connectTimeoutMs: 300 }))
    expect(error).toBeInstanceOf(StoreUnreachableError)
    expect(String(error)).toContain('127.0.0.1:1')
    expect(`${String(error)} ${(error as Error).stack}`).not.toContain(PASSWORD)
  })

  test('credentials and permissions: wrong password, no right to the prefix, and one that has it', async () => {
    const { url, servers } = await bed.etcd(1, { rootPassword: PASSWORD })
    const endpoint = `127.0.0.1:${servers[0]?.port}`
    const env = { ...process.env, ETCDCTL_API: '3' }
    const ctl = (...args: string[]): Promise<unknown> =>
      promisify(execFile)(
        'etcdctl',
        [`--endpoints=http://${endpoint}`, '--user=root', `--password=${PASSWORD}`, ...args],
        { env },
      )
    await ctl('role', 'add', 'locker')
    await ctl('role', 'grant-permission', 'locker', '--prefix=true', 'readwrite', 'mine/')
    await ctl('user', 'add', 'locker:pw')
    await ctl('user', 'grant-role', 'locker', 'locker')

    const wrong = await reason(open(`etcd://root:wrong@${endpoint}`))
    expect(wrong).toBeInstanceOf(StoreError)
    expect(wrong).not.toBeInstanceOf(StoreUnreachableError)
    expect(String(wrong)).toMatch(/authentication failed/i)

    const locker = await open(`etcd://locker:pw@${endpoint}`)
    const denied = await reason(locker.mutex('a').acquire())
    expect(denied).toBeInstanceOf(StoreError)
    expect(String(denied)).toMatch(/permission denied/i)
    expect(String(await reason(locker.mutex('a').tryAcquire()))).toMatch(/permission denied/i)

    const [mine, other] = [
      await open(`etcd://locker:pw@${endpoint}`, { prefix: 'mine' }),
      await open(url, { prefix: 'mine' }),
    ]
    const held = await mine.mutex('a', { ttlMs: 2_000 }).acquire()
    const next = other.mutex('a').acquire()
    await expect.poll(async () => (await lineOf(mine, 'a')).waiters.length).toBe(1)
    expect(await mine.break('a')).toBe(1)
    await (await next).release()
    expect(await held.release()).toBe(false)
  })

  test('no space left: the reason is told, and what is held can still be given back', async () => {
    const { url } = await bed.etcd(1, { flags: [`--quota-backend-bytes=${4 * 1024 * 1024}`] })
    const hf = await open(url)
    const held = await hf.mutex('space', { ttlMs: 20_000 }).acquire()
    const client = rawClient(url, 20_000)
    const filled = await reason(
      (async () => {
        for (let i = 0; i < 100; i++)
          await client.put({ key: Buffer.from(`fill/${i}`), value: Buffer.alloc(1024 * 1024) })
      })(),
    )
    expect(String(filled)).toMatch(/space exceeded/)
    const alarms = async (): Promise<string> => {
      const env = { ...process.env, ETCDCTL_API: '3' }
      const endpoint = url.replace('etcd:', 'http:')
      return (await promisify(execFile)('etcdctl', [`--endpoints=${endpoint}`, 'alarm', 'list'], { env })).stdout
    }
    await expect.poll(alarms, { timeout: 30_000 }).toContain('NOSPACE')
    // With a lease that is there already, with one that must be granted, and without waiting.
    for (const ask of [
      () => hf.mutex('other', { ttlMs: 20_000 }).acquire(),
      () => hf.mutex('other').acquire(),
      () => hf.mutex('other').tryAcquire(),
    ]) {
      const error = await reason(ask())
      expect(error).toBeInstanceOf(StoreError)
      expect(String(error)).toMatch(/space exceeded/)
    }
    held.assertHeld()
    expect(await held.release()).toBe(true)
    expect((await lineOf(hf, 'space')).holders).toEqual([])
  })

  test('ttlMsMin is what the cluster grants, and less is refused', async () => {
    const { url } = await bed.etcd(1, { heartbeatMs: 100, electionMs: 1_000 })
    const hf = await open(url)
    expect(hf.traits.ttlMsMin).toBe(2_000)
    expect(() => hf.mutex('a', { ttlMs: 1_999 })).toThrow(UsageError)
    await (await hf.mutex('a', { ttlMs: 2_000 }).acquire()).release()
  })

  test('a driver made by hand closes what it opened, twice if asked', async () => {
    const { url } = await bed.etcd(1)
    const driver = await etcd({ url, prefix: 'by-hand', timeoutMs: 2_000 })
    const at = { line: 'l', id: 'a'.repeat(32), weight: 1, capacity: 1, ttlMs: 20_000, data: '{}' }
    const place = await driver.enter(at, true)
    expect(place?.ahead).toBe(0)
    await Promise.all([driver.close(), driver.close()])
    const client = new EtcdClient({ endpoints: [url.replace('etcd:', 'http:')] })
    // Its lease is revoked with it: others need not wait for a ttl.
    expect((await client.range({ key: Buffer.from('by-hand/'), rangeEnd: Buffer.from('by-hand0') })).count).toBe(0)
    await client.close()
    await expect(driver.enter(at, true)).rejects.toThrow(/closed/)
  })
})
