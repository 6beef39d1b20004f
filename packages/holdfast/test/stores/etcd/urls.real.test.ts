import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { StoreError, UsageError } from '../../../src/contract/errors.ts'
import { etcd } from '../../../src/stores/etcd/index.ts'
import { requireServers, requireTools, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { lineOf, open, rawClient } from './rig.ts'

const PASSWORD = 'p@ss:w/rd'
// Built: npm run build.
const CLI = fileURLToPath(new URL('../../../dist/cli.cjs', import.meta.url))
const ENV = { ...process.env, ETCDCTL_API: '3' }
let bed: Testbed
let plain: string
let secure: string
let files: string

beforeAll(async () => {
  if (skipped('etcd')) return
  await requireServers(['etcd'])
  await requireTools(['certificates'])
  bed = await testbed()
  const tls = await bed.certificate('etcd')
  plain = (await bed.etcd(1)).url
  secure = (await bed.etcd(1, { tls, rootPassword: PASSWORD })).url
  files = new URLSearchParams({ ca: tls.caFile, cert: tls.certFile, key: tls.keyFile }).toString()
})
afterAll(() => bed?.close())

describe.skipIf(skipped('etcd'))('all that a store needs stands in its URL', () => {
  test.each(['line', 'key', 'go'])('TLS, a password and layout %s', async (layout) => {
    expect(secure).toContain('etcds://root:')
    const url = `${secure}?${files}&layout=${layout}`
    const [a, b] = [await open(url), await open(url)]
    const held = await a.mutex('secret').acquire()
    expect(await b.mutex('secret').tryAcquire()).toBeNull()
    const next = b.mutex('secret').acquire()
    expect(await held.release()).toBe(true)
    expect(await (await next).release()).toBe(true)
  })

  test('a wrong password is refused, and is in no message', async () => {
    const url = secure.replace(encodeURIComponent(PASSWORD), 'wrong-one')
    const refused = open(`${url}?${files}`)
    await expect(refused).rejects.toThrow(StoreError)
    await expect(refused).rejects.not.toThrow(/wrong-one/)
  })

  test('the command line shares a lock with etcdctl', async () => {
    const store = `${plain}?layout=go`
    const theirs = spawn('etcdctl', ['--endpoints', plain.replace('etcd:', 'http:'), 'lock', 'shared'], { env: ENV })
    onTestFinished(() => void theirs.kill('SIGKILL'))
    await once(theirs.stdout, 'data')
    const shown = await promisify(execFile)(process.execPath, [CLI, 'show', 'shared', '--store', store, '--json'])
    expect(shown.stdout).toContain('"shared"')
    const running = promisify(execFile)(process.execPath, [
      CLI,
      'run',
      'shared',
      '--store',
      store,
      '--',
      'echo',
      'mine',
    ])
    const hf = await open(store)
    await expect.poll(async () => (await lineOf(hf, 'shared')).waiters.length).toBe(1)
    theirs.kill('SIGINT')
    expect((await running).stdout).toContain('mine')
  })

  test('so does the worker that sends heartbeats', async () => {
    const hf = await open(`${plain}?layout=go&heartbeat=worker`)
    const held = await hf.mutex('by-worker').acquire()
    const { kvs } = await rawClient(plain).range({
      key: Buffer.from('by-worker/'),
      rangeEnd: Buffer.from('by-worker0'),
    })
    expect(kvs).toHaveLength(1)
    expect(await held.release()).toBe(true)
  })

  test('what it does not have is refused', async () => {
    for (const query of ['layout=queue', 'ca=/nowhere/ca.pem', 'nothing=1']) {
      await expect(open(`${plain}?${query}`)).rejects.toThrow(UsageError)
    }
    await expect(open(`${secure}?ca=/nowhere/ca.pem`)).rejects.toThrow(UsageError)
    await expect(etcd(`${plain}?ttlMs=5000`)).rejects.toThrow(UsageError)
  })
})
