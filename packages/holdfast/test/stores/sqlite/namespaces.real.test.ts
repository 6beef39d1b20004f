/** Processes in other namespaces: what can't be judged from here ends by its ttl, and never sooner. */
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Holdfast, holdfast } from '../../../src/index.ts'
import { Client } from './client.ts'
import { testFolder } from './folder.ts'
import { until } from './until.ts'

const path = join(testFolder(), 'locks.db')
const hf: Holdfast = await holdfast(`sqlite:${path}`)
afterAll(() => hf.close())

const OWN_PROC = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc']
const OLD_PROC = ['unshare', '--pid', '--fork', '--kill-child']
const OWN_CLOCK = ['unshare', '--time', '--monotonic', '100000', '--boottime', '100000', '--fork', '--kill-child']

const line = (): string => `namespace/${randomBytes(4).toString('hex')}`

async function crowd(name: string): Promise<number> {
  for await (const view of hf.list({ prefix: name })) return view.holders.length + view.waiters.length
  return 0
}

beforeAll(() => {
  const tried = spawnSync(OWN_PROC[0] ?? '', [...OWN_PROC.slice(1), 'true'], { encoding: 'utf8' })
  if (tried.status !== 0) {
    throw new Error(
      `these tests need unshare(1) from util-linux, and the right to make namespaces (root): ` +
        `${tried.error ?? tried.stderr}`,
    )
  }
})

test.each([
  ['with a /proc of its own', OWN_PROC],
  ['with the /proc of the outer one', OLD_PROC],
])('a live holder in another pid namespace, %s, does not look dead', async (_, wrapper) => {
  const name = line()
  const holder = await Client.start(path, wrapper)
  const token = BigInt((await holder.ask('acquire', name)) as string)
  // Long enough for a dozen looks at it from outside.
  const lock = hf.mutex(name, { fairness: 'strict' })
  await expect(lock.acquire({ waitMs: 1_500 })).rejects.toMatchObject({ code: 'HF_TIMEOUT' })
  expect(await holder.ask('state', name)).toBe('held')
  await holder.ask('release', name)
  const held = await lock.acquire()
  expect(held.token).toBeGreaterThan(token)
  await held.release()
})

test.each([
  ['with a /proc of its own', OWN_PROC],
  ['with the /proc of the outer one', OLD_PROC],
])('a live holder out here does not look dead from another pid namespace, %s', async (_, wrapper) => {
  const name = line()
  const held = await hf.mutex(name).acquire()
  const waiter = await Client.start(path, wrapper)
  const asked = waiter.ask('acquire', name)
  await until(async () => (await crowd(name)) === 2)
  // Behind the waiter, for as long as a dozen of its looks.
  await expect(hf.mutex(name, { fairness: 'strict', reentrant: false }).acquire({ waitMs: 1_500 })).rejects.toThrow()
  expect(await crowd(name)).toBe(2)
  expect(await waiter.ask('state', name)).toBeUndefined()
  held.assertHeld()
  await held.release()
  await asked
})

test('where /proc shows another pid namespace, a process judges nobody', () => {
  const host = new URL('../../../src/stores/sqlite/host.ts', import.meta.url).href
  const script = `import { readHost } from ${JSON.stringify(host)}
    process.stdout.write(String(readHost().world))`
  const world = (wrapper: readonly string[]): string => {
    const [command, ...args] = [...wrapper, process.execPath, '--import', 'tsx', '--input-type=module', '-e', script]
    return spawnSync(command, args, { encoding: 'utf8' }).stdout
  }
  // In there it is process 1, and /proc/1 is the init of the host, started at another time.
  expect(world(OLD_PROC)).toBe('null')
  expect(world(OWN_PROC)).toMatch(/^pid:/)
  expect(world(OWN_PROC)).not.toBe(world([]))
})

test('a killed holder in another pid namespace goes by its ttl', async () => {
  const name = line()
  const holder = await Client.start(path, OWN_PROC)
  await holder.ask('acquire', name, 500)
  const next = hf.mutex(name, { fairness: 'strict' }).acquire()
  await holder.kill()
  await (await next).release()
})

test('a process whose clock is shifted by a time namespace sees the same lapses', async () => {
  const name = line()
  const held = await hf.mutex(name, { ttlMs: 60_000 }).acquire()
  const other = await Client.start(path, OWN_CLOCK)
  const asked = other.ask('acquire', name, 60_000)
  await until(async () => (await crowd(name)) === 2)
  await expect(hf.mutex(name, { fairness: 'strict' }).acquire({ waitMs: 1_500 })).rejects.toMatchObject({
    code: 'HF_TIMEOUT',
  })
  expect(await crowd(name)).toBe(2)
  expect(await other.ask('state', name)).toBeUndefined()
  await held.release()
  await asked
  // Its place, entered by the shifted clock, has not lapsed for us either; and it does lapse, once nobody renews it.
  expect(await hf.mutex(name).tryAcquire()).toBeNull()
  await other.ask('release', name)
  await other.ask('acquire', name, 500)
  await other.kill()
  await (await hf.mutex(name).acquire()).release()
})
