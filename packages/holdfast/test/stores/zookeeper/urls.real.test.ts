/** All that the store needs stands in its URL, so that the command line can have it, too. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { StoreError, UsageError } from '../../../src/contract/errors.ts'
import type { Holdfast } from '../../../src/holdfast.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import { holdfast } from '../../../src/open.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

// Built: npm run build.
const CLI = fileURLToPath(new URL('../../../dist/cli.cjs', import.meta.url))
let bed: Testbed
let plain: string
let secure: string
let files: string

beforeAll(async () => {
  await requireServers(['zookeeper'])
  await requireTools(['certificates'])
  bed = await testbed()
  const tls = await bed.certificate('zookeeper')
  plain = (await bed.zookeeper(1, { tickMs: 500 })).url
  secure = (await bed.zookeeper(1, { tickMs: 500, tls })).url
  files = new URLSearchParams({ ca: tls.caFile, cert: tls.certFile, key: tls.keyFile }).toString()
})
afterAll(() => bed?.close())

async function open(url: string): Promise<Holdfast> {
  const hf = await holdfast(url)
  onTestFinished(() => hf.close())
  return hf
}

const as = (url: string, who: string): string => url.replace('://', `://${who}@`)

test.each(['holdfast', 'curator'])('TLS, a user with a password, and layout %s', async (layout) => {
  expect(secure).toContain('zookeepers://')
  const url = `${as(secure, 'app:p%40ss%3Aword')}/locks-${layout}?${files}&layout=${layout}`
  const [a, b] = [await open(url), await open(url)]
  const held = await a.mutex('/secret').acquire()
  expect(await b.mutex('/secret').tryAcquire()).toBeNull()
  const next = b.mutex('/secret').acquire()
  expect(await held.release()).toBe(true)
  expect(await (await next).release()).toBe(true)
})

test('whoever is not that user, or has another password, is refused, and the password is in no message', async () => {
  const mine = await open(as(plain, 'app:right-one'))
  await (await mine.mutex('guarded').acquire()).release()
  for (const url of [plain, as(plain, 'app:wrong-one')]) {
    const other = await open(url)
    const refused = await other
      .mutex('guarded')
      .acquire({ waitMs: 5_000 })
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(StoreError)
    expect(String(refused)).not.toMatch(/wrong-one|right-one/)
  }
})

test('the command line shares the path of a Curator lock', async () => {
  const store = `${plain}?layout=curator`
  const hf = await open(store)
  const held = await hf.mutex('/locks/shared').acquire()
  const run = (...args: string[]): Promise<{ stdout: string }> => promisify(execFile)(process.execPath, [CLI, ...args])
  const { stdout } = await run('show', '/locks/shared', '--store', store, '--json')
  expect(stdout).toContain('/locks/shared')
  const running = run('run', '/locks/shared', '--store', store, '--', 'echo', 'mine')
  await expect
    .poll(async () => {
      for await (const line of hf.list({ prefix: '/locks/shared' })) return line.waiters.length
      return 0
    })
    .toBe(1)
  await held.release()
  expect((await running).stdout).toContain('mine')
})

test('what it does not have is refused', async () => {
  for (const query of ['layout=queue', 'ca=/nowhere/ca.pem', 'nothing=1']) {
    await expect(holdfast(`${plain}?${query}`)).rejects.toThrow(UsageError)
  }
  await expect(holdfast(`${secure}?ca=/nowhere/ca.pem`)).rejects.toThrow(UsageError)
  await expect(zookeeper(`${plain}?ttlMs=5000`)).rejects.toThrow(UsageError)
})
