/** Passwords, users, databases and TLS on a real server. */
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Connection, HandshakeError, parseRedisUrl } from '../../../src/clients/redis/index.ts'
import type { ConnectionOptions } from '../../../src/clients/redis/index.ts'
import type { Identity } from '../../../../holdfast-lab/src/testbed/certificates.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'

let bed: Testbed

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['certificates'])
  bed = await testbed()
})

afterAll(() => bed?.close())

async function whoAmI(options: ConnectionOptions): Promise<unknown> {
  const connection = new Connection(options)
  try {
    return await connection.command(['ACL', 'WHOAMI'])
  } finally {
    await connection.close()
  }
}

describe.each([3, 2] as const)('AUTH in RESP%i', (protocol) => {
  let server: Server

  beforeAll(async () => {
    const config = { user: 'ann on >hunter2 ~* &* +@all' }
    server = await bed.redis({ requirepass: 'p@ss w\u00f6rd', config })
  })

  test('without a user, with one, and from a URL', async () => {
    const { port } = server
    expect(await whoAmI({ port, protocol, password: 'p@ss w\u00f6rd' })).toBe('default')
    expect(await whoAmI({ port, protocol, username: 'ann', password: 'hunter2' })).toBe('ann')
    expect(await whoAmI({ protocol, ...parseRedisUrl(`redis://:p%40ss%20w%C3%B6rd@127.0.0.1:${port}`) })).toBe(
      'default',
    )
  })

  test.each<[string, ConnectionOptions, string]>([
    ['a wrong password', { password: 'secret-guess' }, 'WRONGPASS'],
    ['an unknown user', { username: 'bob', password: 'secret-guess' }, 'WRONGPASS'],
  ])('%s is a typed error that does not repeat it', async (_, options, kind) => {
    const error: unknown = await whoAmI({ port: server.port, protocol, ...options }).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(HandshakeError)
    expect(error).toMatchObject({ kind, sent: false })
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret-guess')
  })

  test('no password where one is needed', async () => {
    await expect(whoAmI({ port: server.port, protocol })).rejects.toMatchObject({ kind: 'NOAUTH' })
  })

  test('a database is selected on every link; one that does not exist is refused', async () => {
    const own = { port: server.port, protocol, username: 'ann', password: 'hunter2', clientName: 'holdfast-test' }
    const connection = new Connection({ ...own, db: 5, backoffMinMs: 1 })
    for (let round = 0; round < 2; round++) {
      expect(await connection.command(['CLIENT', 'INFO'])).toMatch(/ name=holdfast-test .* db=5 /)
      // Redis answers first and hangs up then.
      expect(await connection.command(['CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'no'])).toBe(1)
      while (connection.ready) await new Promise((resolve) => setImmediate(resolve))
    }
    await connection.close()
    await expect(whoAmI({ ...own, db: 99 })).rejects.toMatchObject({ reply: 'ERR DB index is out of range' })
  })
})

test('a password that is given to a server without one is a typed error', async () => {
  const server = await bed.redis()
  // The user `default` has nopass there: Redis takes any password, and AUTH alone says so.
  await expect(whoAmI({ port: server.port, protocol: 2, password: 'secret-guess' })).rejects.toThrow(
    /without any password/,
  )
})

describe('TLS', () => {
  let server: Server
  let ca: Identity['pem']['ca']

  beforeAll(async () => {
    const tls = await bed.certificate('server')
    server = await bed.redis({ tls })
    ca = tls.pem.ca
  })

  test('carries commands, large and many', async () => {
    const connection = new Connection({ ...parseRedisUrl(`rediss://127.0.0.1:${server.port}`), tls: { ca } })
    const value = Buffer.alloc(1_000_000, 0xe9)
    await connection.command(['SET', 'k', value])
    const stored = (await connection.command(['GET', 'k'], { buffers: true })) as Buffer
    expect(stored.equals(value)).toBe(true)
    const replies = await Promise.all(Array.from({ length: 10_000 }, () => connection.command(['INCR', 'n'])))
    expect(replies.every((reply, index) => reply === index + 1)).toBe(true)
    await connection.close()
  })

  test('a certificate that nobody vouches for is refused', async () => {
    const connection = new Connection({ port: server.port, tls: true, connectTimeoutMs: 3_000 })
    await expect(connection.connect()).rejects.toMatchObject({
      sent: false,
      cause: { code: expect.stringMatching(/^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/) as string },
    })
    await connection.close()
  })

  test('plain text to a TLS port, and TLS to a plain port, fail with a typed error', async () => {
    const plain = new Connection({ port: server.port, connectTimeoutMs: 3_000 })
    await expect(plain.connect()).rejects.toMatchObject({ sent: false, code: 'HF_UNREACHABLE' })
    await plain.close()
    const other = await bed.redis()
    const secure = new Connection({ port: other.port, tls: { ca }, connectTimeoutMs: 3_000 })
    await expect(secure.connect()).rejects.toMatchObject({ sent: false, code: 'HF_UNREACHABLE' })
    await secure.close()
  })
})
