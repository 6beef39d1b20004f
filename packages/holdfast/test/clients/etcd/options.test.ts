import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { EtcdClient, type EtcdClientOptions } from '../../../src/clients/etcd/index.ts'
import { PutResponse } from '../../../src/clients/etcd/messages/kv.ts'
import { WatchResponse } from '../../../src/clients/etcd/messages/watch.ts'
import { answer, clientOf, deadEndpoint, framed, rejection, startPeer } from './peer.ts'

const endpoints = ['http://127.0.0.1:1']

function thrownBy(make: () => unknown): unknown {
  try {
    return make()
  } catch (error) {
    return error
  }
}

test.each<[string, unknown]>([
  ['no endpoints', {}],
  ['an empty list', { endpoints: [] }],
  ['a bare host', { endpoints: ['localhost:2379'] }],
  ['a path', { endpoints: ['http://localhost:2379/x'] }],
  ['a port of 0', { endpoints: ['http://localhost:0'] }],
  ['a number', { endpoints: [2379] }],
  ['credentials in the address', { endpoints: ['http://ann:tr0ub4dor@localhost:2379'] }],
  ['a user without a password', { endpoints, user: 'ann' }],
  ['an empty user', { endpoints, user: '', password: 'tr0ub4dor' }],
  ['a deadline of 0', { endpoints, timeoutMs: 0 }],
  ['a deadline that is no number', { endpoints, probeWaitMs: Number.NaN }],
  ['a certificate that is none', { endpoints, tls: { ca: 'x', cert: 'no', key: 'tr0ub4dor' } }],
])('%s is a UsageError that names no password', (_what, options) => {
  const error = thrownBy(() => new EtcdClient(options as EtcdClientOptions))
  expect(error).toBeInstanceOf(UsageError)
  expect(String((error as Error).stack)).not.toContain('tr0ub4dor')
})

test('a call checks its deadline, a watch its revision', async () => {
  const client = clientOf(endpoints)
  const key = Buffer.from('k')
  expect(await rejection(client.put({ key }, { timeoutMs: -1 }))).toBeInstanceOf(UsageError)
  const quiet = { onEvents: () => {}, onEnd: () => {} }
  expect(await rejection(client.watch(key, { startRevision: -1n }, quiet))).toBeInstanceOf(UsageError)
})

/** Runs a program in a process of its own until it ends by itself; answers what it wrote. */
async function run(program: string): Promise<string> {
  const client = new URL('../../../src/clients/etcd/index.ts', import.meta.url).href
  const source = `import { EtcdClient } from '${client}'\n${program}`
  const tsx = fileURLToPath(new URL('../../../../../node_modules/tsx/dist/cli.mjs', import.meta.url))
  const args = [tsx, '--input-type=module', '-e', source]
  return (await promisify(execFile)(process.execPath, args, { timeout: 25_000 })).stdout
}

test('an idle client does not keep its process alive, even with an open watch', async () => {
  const peer = await startPeer((stream, headers) => {
    if (headers[':path'] === '/etcdserverpb.KV/Put') return answer(stream, [framed(PutResponse, {})])
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' })
    stream.write(framed(WatchResponse, { watchId: 1n, created: true }))
  })
  const program = `
    const client = new EtcdClient({ endpoints: ['${peer.endpoint}'] })
    await client.put({ key: Buffer.from('k') })
    await client.watch(Buffer.from('k'), {}, { onEvents: () => {}, onEnd: () => {} })
    process.stdout.write('watching')`
  expect(await run(program)).toBe('watching')
  expect(peer.calls).toEqual(['/etcdserverpb.KV/Put', '/etcdserverpb.Watch/Watch'])
})

test('a pending call keeps its process alive until it is answered or late', async () => {
  const program = `
    const client = new EtcdClient({ endpoints: ['${await deadEndpoint()}'], timeoutMs: 300 })
    await client.put({ key: Buffer.from('k') }).catch((error) => process.stdout.write(error.name))`
  expect(await run(program)).toBe('EtcdUnreachableError')
})
