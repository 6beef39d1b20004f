/** Greeting, refusals and coming back: typed errors without the password, and no server met at full speed. */
import { inspect } from 'node:util'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Connection } from '../../../src/clients/redis/connection.ts'
import { ConnectionLostError, HandshakeError } from '../../../src/clients/redis/errors.ts'
import type { ConnectionOptions } from '../../../src/clients/redis/options.ts'
import type { Act, Peer } from './peer.ts'
import { HELLO_OK, greeting, startPeer } from './peer.ts'

let peer: Peer
let connection: Connection

async function start(act: Act, options: ConnectionOptions = {}): Promise<void> {
  peer = await startPeer(act)
  connection = new Connection({
    port: peer.port,
    backoffMinMs: 1,
    backoffMaxMs: 20,
    commandTimeoutMs: 30_000,
    ...options,
  })
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error('the promise was fulfilled'),
    (error: Error) => error,
  )
}

afterEach(async () => {
  await connection.close()
  await peer.stop()
})

const hangUp: Act = (_, socket) => {
  setImmediate(() => socket.destroy())
  return HELLO_OK
}

const UNKNOWN = "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'ann' 'hunter2'\r\n"

describe('greeting', () => {
  test('in RESP3 takes one command, and SELECT only when a database is named', async () => {
    await start(
      greeting(() => '+OK\r\n'),
      { username: 'ann', password: 'hunter2', clientName: 'app', db: 3 },
    )
    await connection.connect()
    expect(peer.heard).toEqual(['HELLO 3 AUTH ann hunter2 SETNAME app', 'SELECT 3'])
    expect(connection.protocol).toBe(3)
  })

  test('without a user name it is the default user', async () => {
    await start(greeting(), { password: 'hunter2' })
    await connection.connect()
    expect(peer.heard).toEqual(['HELLO 3 AUTH default hunter2'])
  })

  test.each([
    ['a server without HELLO', UNKNOWN],
    ['a server without RESP3', '-NOPROTO unsupported protocol version\r\n'],
  ])('falls back to RESP2 on %s', async (_, refusal) => {
    await start((args) => (args[0] === 'HELLO' ? refusal : '+OK\r\n'), {
      username: 'ann',
      password: 'hunter2',
      clientName: 'app',
      db: 1,
    })
    await connection.connect()
    expect(peer.heard.slice(1)).toEqual(['AUTH ann hunter2', 'CLIENT SETNAME app', 'SELECT 1'])
    expect(connection.protocol).toBe(2)
  })

  test('in RESP2 when asked for, with the old form of AUTH, and a name that may not be set is let go', async () => {
    await start((args) => (args[0] === 'CLIENT' ? '-NOPERM no permission\r\n' : '+OK\r\n'), {
      protocol: 2,
      password: 'hunter2',
      clientName: 'app',
    })
    await connection.connect()
    expect(peer.heard).toEqual(['AUTH hunter2', 'CLIENT SETNAME app'])
  })
})

describe('refusals', () => {
  test.each([
    ['a wrong password', '-WRONGPASS invalid username-password pair or user is disabled.\r\n', 'WRONGPASS'],
    ['a password repeated by the server', "-ERR bad 'hunter2' for ann\r\n", 'ERR'],
    ['protected mode', '-DENIED Redis is running in protected mode\r\n', 'DENIED'],
  ])('%s is a typed error without the password', async (_, refusal, kind) => {
    await start(() => refusal, { username: 'ann', password: 'hunter2' })
    for (const error of [await failure(connection.connect()), await failure(connection.command(['PING']))]) {
      expect(error).toBeInstanceOf(HandshakeError)
      expect(error).toMatchObject({ kind, sent: false, code: 'HF_STORE' })
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2')
    }
  })

  test('half a password, as Redis repeats it when AUTH is renamed, is cut out too', async () => {
    const password = `hunter2${'x'.repeat(200)}`
    const half = `-ERR unknown command 'AUTH', with args beginning with: 'ann' '${password.slice(0, 100)}\r\n`
    await start((args) => (args[0] === 'AUTH' ? half : UNKNOWN), { username: 'ann', password })
    const error = await failure(connection.connect())
    expect(error).toMatchObject({ reply: "ERR unknown command 'AUTH'" })
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hunter2')
  })

  test('are not repeated at full speed', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    await start(() => '-WRONGPASS no\r\n', { password: 'x', connectTimeoutMs: 30_000, backoffMaxMs: 20_000 })
    for (let round = 0; round < 20; round++) expect(await failure(connection.connect())).toBeInstanceOf(HandshakeError)
    // The longest delay is planned at once, and no command shortens it. The other timers are those of 30 s.
    const delays = timers.mock.calls.map(([, delay]) => delay as number).filter((delay) => delay <= 20_000)
    timers.mockRestore()
    expect(delays).toHaveLength(1)
    expect(delays[0]).toBeGreaterThanOrEqual(10_000)
    expect(peer.sockets).toHaveLength(1)
  })

  test('that pass are ridden out', async () => {
    await start((args, socket) => {
      if (peer.sockets.length < 3) socket.end('-ERR max number of clients reached\r\n')
      else return args[0] === 'HELLO' ? HELLO_OK : '+PONG\r\n'
      return undefined
    })
    expect(await connection.command(['PING'])).toBe('PONG')
    expect(peer.sockets).toHaveLength(3)
  })
})

describe('no server', () => {
  test('connect() says why after connectTimeoutMs', async () => {
    await start(greeting(), { connectTimeoutMs: 1_000 })
    await peer.stop()
    const error = await failure(connection.connect())
    expect(error).toBeInstanceOf(ConnectionLostError)
    expect(error).toMatchObject({ sent: false, reason: 'unreachable', cause: { code: 'ECONNREFUSED' } })
  })

  test('a peer that accepts and says nothing is given up after connectTimeoutMs, and tried again', async () => {
    await start(() => undefined, { connectTimeoutMs: 30 })
    expect(await failure(connection.connect())).toMatchObject({ sent: false, reason: 'unreachable' })
    peer.act = greeting(() => '+PONG\r\n')
    expect(await connection.command(['PING'])).toBe('PONG')
  })

  test('attempts go on until there is one, and each failure is told', async () => {
    const told: string[] = []
    const events = { onDown: (error: Error) => told.push(error.message), onReady: () => told.push('ready') }
    await start(
      (_, socket) => {
        if (peer.sockets.length < 4) socket.destroy()
        return peer.sockets.length < 4 ? undefined : HELLO_OK
      },
      { events, connectTimeoutMs: 30_000 },
    )
    await connection.connect()
    expect(told).toHaveLength(4)
    expect(told.at(-1)).toBe('ready')
  })

  test('a server that greets and hangs up is met with growing delays', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout')
    let downs = 0
    let enough: () => void
    const done = new Promise<void>((resolve) => (enough = resolve))
    const onDown = (): void => {
      if (++downs === 5) enough()
    }
    await start(hangUp, { events: { onDown }, connectTimeoutMs: 30_000, backoffMinMs: 4, backoffMaxMs: 10_000 })
    await connection.connect()
    await done
    // The other timers are those of 30 s.
    const delays = timers.mock.calls.map(([, delay]) => delay as number).filter((delay) => delay < 10_000)
    timers.mockRestore()
    expect(delays).toHaveLength(5)
    for (const [index, delay] of delays.entries()) {
      const step = 4 * 2 ** (index + 1)
      expect(delay).toBeGreaterThanOrEqual(step / 2)
      expect(delay).toBeLessThanOrEqual(step)
    }
  })
})
