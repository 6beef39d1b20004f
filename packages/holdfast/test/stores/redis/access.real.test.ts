/** Sentinel and Cluster over TLS, Sentinels that want a password, and the classic recipe by URL. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { redis, setNx } from '../../../src/stores/redis/index.ts'
import type { Driver } from '../../../src/contract/driver.ts'
import { holdfast, StoreUnreachableError, UsageError } from '../../../src/index.ts'
import type { Identity } from '../../../../holdfast-lab/src/testbed/certificates.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

const COMMAND = fileURLToPath(new URL('../../../dist/cli.cjs', import.meta.url))

let bed: Testbed
let tls: Identity

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  tls = await bed.certificate('server')
})

afterAll(() => bed?.close())

/** Locks, waits and is told. */
async function works(driver: Driver): Promise<void> {
  const hf = await holdfast(driver)
  const held = await hf.mutex('line', { ttlMs: 600_000 }).acquire()
  const waiting = hf.mutex('line', { ttlMs: 600_000, fairness: 'strict' }).acquire()
  await held.release()
  await (await waiting).release()
  await hf.close()
}

/** The command line is given nothing but a URL, and Node its certificates. */
async function runs(url: string): Promise<string> {
  const args = [
    COMMAND,
    'run',
    'cli',
    '--store',
    url,
    '--wait',
    '5s',
    '--',
    process.execPath,
    '-p',
    'process.env.HOLDFAST_STORE',
  ]
  const env = { ...process.env, NODE_EXTRA_CA_CERTS: tls.caFile }
  return (await promisify(execFile)(process.execPath, args, { env })).stdout
}

test('Sentinel over TLS, with a password of the Sentinels and another of the servers', async () => {
  const [requirepass, sentinelPassword] = ['pa/ss@word', 'sen&tinel?']
  const { url } = await bed.sentinel({ tls, requirepass, sentinelPassword })
  const secure = url.replace(/^redis\+/, 'rediss+')
  const { ca } = tls.pem
  await works(redis(secure, { tls: { ca }, sentinelPassword }))

  const query = `?sentinelPassword=${encodeURIComponent(sentinelPassword)}`
  const told = await runs(`${secure}${query}`)
  expect(told).toContain('/mymaster')
  expect(told).not.toMatch(/sen%26|sentinelPassword/)
  expect(told).not.toContain('pa%2Fss')

  const impatient = { connectTimeoutMs: 3_000, commandTimeoutMs: 3_000 }
  for (const wrong of [
    redis(secure, { ...impatient, tls: { ca } }),
    redis(secure, { ...impatient, tls: { ca }, sentinelPassword: 'wrong' }),
    redis(secure, { ...impatient, sentinelPassword }),
    redis(url.replace(/^rediss\+/, 'redis+'), { ...impatient, sentinelPassword }),
  ]) {
    const hf = await holdfast(wrong)
    await expect(hf.mutex('line').acquire({ waitMs: 4_000 })).rejects.toBeInstanceOf(StoreUnreachableError)
    await hf.close()
  }
})

test('Sentinels that know users', async () => {
  const { url, sentinels } = await bed.sentinel()
  for (const { port } of sentinels) {
    expect(await redisAsk(port, '', ['ACL', 'SETUSER', 'looker', 'on', '>pw', '+@all', '~*', '&*'])).toBe('+OK\r\n')
    expect(await redisAsk(port, '', ['ACL', 'SETUSER', 'default', '-sentinel'])).toBe('+OK\r\n')
  }
  await works(redis(url, { sentinelUsername: 'looker', sentinelPassword: 'pw' }))
  const hf = await holdfast(`${url}?sentinelUsername=looker&sentinelPassword=pw`)
  await (await hf.mutex('line').acquire()).release()
  await hf.close()
})

test('Cluster over TLS', async () => {
  const { url } = await bed.cluster({ tls })
  const secure = url.replace(/^redis\+/, 'rediss+')
  await works(redis(secure, { tls: { ca: tls.pem.ca } }))
  expect(await runs(secure)).toContain('rediss+cluster://')
})

test('one server over TLS, with a certificate authority of its own', async () => {
  const server = await bed.redis({ tls })
  await works(redis(server.url, { tls: { ca: tls.pem.ca } }))
  await runs(server.url)
})

test('layout=set-nx in a URL: the lock is the key, for the command line and for a worker, too', async () => {
  const server = await bed.redis()
  const client = new Redis(server.port, '127.0.0.1')
  const url = `${server.url}?layout=set-nx`
  expect(await client.set('cli', 'somebody', 'PX', 600_000, 'NX')).toBe('OK')
  for (const store of [url, `${url}&heartbeat=worker`]) {
    const hf = await holdfast(store)
    expect(await hf.mutex('cli').tryAcquire()).toBeNull()
    const held = await hf.mutex('ours').acquire()
    expect(await client.set('ours', 'somebody', 'PX', 600_000, 'NX')).toBeNull()
    await held.release()
    expect(await client.exists('ours')).toBe(0)
    await hf.close()
  }
  await expect(runs(url)).rejects.toMatchObject({ code: 75 })
  await client.del('cli')
  await runs(url)
  client.disconnect()
}, 90_000)

test('what would be ignored is refused, and no error shows a password', async () => {
  const client = new Redis({ lazyConnect: true })
  const wrong = [
    () => redis('redis://localhost', { tls: {} }),
    () => redis('redis+cluster://localhost', { tls: {} }),
    () => redis(client, { tls: {} }),
    () => redis('redis://localhost', { sentinelPassword: 'secret' }),
    () => redis('redis+cluster://localhost', { sentinelPassword: 'secret' }),
    () => redis('redis+sentinel://localhost/m', { sentinelUsername: 'secret' }),
    () => redis('rediss://localhost', { tls: true as unknown as object }),
    () => setNx('redis://localhost', { prefix: 'secret' } as object),
    () => setNx('redis://localhost', { replicas: 1 } as object),
  ]
  for (const make of wrong) {
    expect(make).toThrow(UsageError)
    expect(make).not.toThrow(/secret"?\)/)
  }
  client.disconnect()
  for (const url of [
    'redis://localhost?layout=secret-line',
    'redis://localhost?sentinelPassword=secret',
    'redis://localhost?layout=set-nx&prefix=app',
    'redis://localhost?layout=set-nx&replicas=1',
  ]) {
    await expect(holdfast(url)).rejects.toBeInstanceOf(UsageError)
  }
})
