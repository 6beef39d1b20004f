/**
 * What docs/explain/security.md says that somebody can do, and can't, tried: with the store's password, with the file,
 * on the network, with a ticket, with a request, with a name alone.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server as TcpServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireServers, requireTools } from '../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../holdfast-lab/src/testbed/testbed.ts'
import { Connection } from '../src/clients/redis/index.ts'
import { httpGuard } from '../src/fence/http/guard.ts'
import { type Holdfast, holdfast, HoldfastError, NotHeldError } from '../src/index.ts'

const CANARY = 'c4n4ry'
let bed: Testbed
let redis: Server
let url: string

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['certificates'])
  bed = await testbed()
  redis = await bed.redis({ requirepass: CANARY })
  url = `redis://:${CANARY}@127.0.0.1:${redis.port}`
})

afterAll(() => bed?.close())

async function listening(server: TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

describe('with the password of the store', () => {
  test('keys can be deleted: a second holder comes in; the first is told, and its token is refused', async () => {
    const [ann, bob] = [await holdfast(url, { ttlMs: 1_500 }), await holdfast(url)]
    const eve = new Connection({ port: redis.port, password: CANARY })
    const first = await ann.mutex('stock').acquire()
    const lost = once(first.signal, 'abort')
    const keys = (await eve.command(['KEYS', '*stock*'])) as string[]
    expect(keys.length).toBeGreaterThan(0)
    await eve.command(['DEL', ...keys])
    const second = await bob.mutex('stock').acquire({ waitMs: 10_000 })
    // This is what no lock service can prevent, and what the token is for.
    expect(second.token).toBeGreaterThan(first.token)
    await lost
    expect(first.state).toBe('lost')
    await Promise.all([eve.close(), ann.close(), bob.close()])
  })

  test('a user with rights to read sees who holds what, and can neither take nor break a lock', async () => {
    const eve = new Connection({ port: redis.port, password: CANARY })
    await eve.command(['ACL', 'SETUSER', 'reader', 'on', '>pw', '~*', '&*', '+@read', '+@connection', '-@dangerous'])
    await eve.close()
    const hf = await holdfast(url)
    const held = await hf.mutex('stock:2').acquire()
    const error: unknown = await holdfast(`redis://reader:pw@127.0.0.1:${redis.port}`).then(
      (reader) => reader.mutex('stock:2').tryAcquire(),
      (caught: unknown) => caught,
    )
    expect(error).toBeInstanceOf(HoldfastError)
    expect(held.state).toBe('held')
    await hf.close()
  })
})

describe('on the network', () => {
  test('without TLS the password goes by in the clear', async () => {
    let seen = ''
    const tap = createServer((socket) => {
      const upstream = connect(redis.port, '127.0.0.1')
      for (const one of [socket, upstream]) one.on('error', () => one.destroy())
      socket.on('data', (bytes) => (seen += bytes.toString('latin1')))
      socket.pipe(upstream).pipe(socket)
    })
    const port = await listening(tap)
    const hf = await holdfast(`redis://:${CANARY}@127.0.0.1:${port}`)
    await hf.close()
    tap.close()
    expect(seen).toContain(CANARY)
  })

  test.each(['rediss', 'etcds', 'zookeepers'])(
    '%s: a server with a strange certificate gets no password',
    async (scheme) => {
      const { certFile, keyFile } = await bed.certificate('127.0.0.1')
      const { readFileSync } = await import('node:fs')
      let seen = 0
      const eve = createTlsServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (socket) => {
        socket.on('error', () => socket.destroy())
        socket.on('data', (bytes) => (seen += bytes.length))
      })
      eve.on('tlsClientError', () => undefined)
      const port = await listening(eve)
      const error: unknown = await holdfast(`${scheme}://ann:${CANARY}@127.0.0.1:${port}`, {
        connectTimeoutMs: 500,
      }).then(
        (hf) => hf.close(),
        (caught: unknown) => caught,
      )
      eve.close()
      expect(error).toBeInstanceOf(HoldfastError)
      expect(seen).toBe(0)
    },
  )

  test('postgres with sslmode=require: a server that says it has no TLS gets no password', async () => {
    let seen = ''
    const sockets: Socket[] = []
    const eve = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => socket.destroy())
      socket.on('data', (bytes) => {
        seen += bytes.toString('latin1')
        // "No" to the question for TLS, and then the wish for a password in the clear.
        socket.write(bytes.length === 8 ? 'N' : Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 3]))
      })
    })
    const port = await listening(eve)
    const hf = await holdfast(`postgres://ann:${CANARY}@127.0.0.1:${port}/db?sslmode=require`, {
      connectTimeoutMs: 500,
    })
    const error: unknown = await hf
      .mutex('x')
      .acquire({ waitMs: 1_000 })
      .catch((caught: unknown) => caught)
    await hf.close()
    for (const socket of sockets) socket.destroy()
    eve.close()
    expect(error).toBeInstanceOf(HoldfastError)
    expect(seen.length).toBeGreaterThan(0)
    expect(seen).not.toContain(CANARY)
  })
})

describe('with a ticket', () => {
  let hf: Holdfast

  beforeAll(async () => {
    hf = await holdfast(url)
  })

  afterAll(() => hf.close())

  test('the lock can be had, once; who comes second is refused', async () => {
    const ticket = await (await hf.mutex('ticket').acquire()).export()
    const eve = await hf.adopt(ticket)
    await expect(hf.adopt(ticket)).rejects.toThrow(NotHeldError)
    await eve.release()
  })

  test('no other lock can be had with it, and it is of no use to whoever can not reach the store', async () => {
    const ticket = await (await hf.mutex('ticket:2').acquire()).export()
    const other = await hf.mutex('other').acquire()
    const deed = JSON.parse(Buffer.from(ticket, 'base64url').toString()) as object
    const forged = Buffer.from(JSON.stringify({ ...deed, line: 'other' })).toString('base64url')
    await expect(hf.adopt(forged)).rejects.toThrow(NotHeldError)
    expect(other.state).toBe('held')
    await other.release()
    expect(JSON.stringify(deed)).not.toContain(CANARY)
    await (await hf.adopt(ticket)).release()
  })
})

test('with a request: a guard does not know who sends a token, so a made-up one shuts all others out', async () => {
  const guard = httpGuard<{ readonly headers: Record<string, string> }>({ resource: () => 'stock' })
  const ask = guard.fetch(() => new Response('done'))
  const token = (value: bigint): { readonly headers: Record<string, string> } => ({
    headers: { 'holdfast-token': `${value}; place=0123456789abcdef; line=stock` },
  })
  expect((await ask(token(1_024n))).status).toBe(200)
  expect((await ask(token(2n ** 63n - 1n))).status).toBe(200)
  expect((await ask(token(2_048n))).status).toBe(409)
})

test('with a name: names that users choose share one space with ours, so they need a prefix', async () => {
  const hf = await holdfast('memory:')
  const held = await hf.mutex('holdfast/once/nightly').acquire()
  const attempt = { rerun: false, untilMs: Date.now() + 1_000, waitMs: 0 }
  expect(await hf.job('nightly').attempt(1, attempt, () => undefined)).toBe('busy')
  const prefixed = await hf.mutex('user:holdfast/once/nightly').acquire()
  await held.release()
  expect(await hf.job('nightly').attempt(1, attempt, () => undefined)).toBe('ran')
  await prefixed.release()
  await hf.close()
})
