/**
 * What becomes of commands when the link breaks, hangs or talks nonsense: nothing is sent twice, nothing hangs, nothing
 * is mixed up.
 */
import { afterEach, describe, expect, test } from 'vitest'
import { ClosedError, StoreUnreachableError } from '../../../src/contract/errors.ts'
import { Connection } from '../../../src/clients/redis/connection.ts'
import { ConnectionLostError, ProtocolError, ReplyError } from '../../../src/clients/redis/errors.ts'
import type { ConnectionOptions } from '../../../src/clients/redis/options.ts'
import { blockFor } from '../../blocked.ts'
import type { Act, Peer } from './peer.ts'
import { greeting, startPeer } from './peer.ts'

let peer: Peer
let connection: Connection

async function open(act: Act, options: ConnectionOptions = {}): Promise<void> {
  peer = await startPeer(greeting(act))
  connection = new Connection({
    port: peer.port,
    backoffMinMs: 1,
    backoffMaxMs: 20,
    commandTimeoutMs: 30_000,
    ...options,
  })
  await connection.connect()
}

/** The error a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<ConnectionLostError> {
  try {
    await promise
  } catch (error) {
    return error as ConnectionLostError
  }
  throw new Error('the promise was fulfilled')
}

async function restart(port: number): Promise<void> {
  peer = await startPeer(
    greeting(() => '+OK\r\n'),
    port,
  )
}

afterEach(async () => {
  await connection.close()
  await peer.stop()
})

describe('a dropped link', () => {
  test('rejects what was sent as unknown, and never sends it again', async () => {
    await open((args, socket) => {
      if (args[0] === 'INCR') socket.destroy()
      return args[0] === 'PING' ? '+PONG\r\n' : undefined
    })
    const error = await failure(connection.command(['INCR', 'n']))
    expect(error).toBeInstanceOf(ConnectionLostError)
    expect(error).toBeInstanceOf(StoreUnreachableError)
    expect(error).toMatchObject({ sent: true, reason: 'dropped', code: 'HF_UNREACHABLE' })
    expect(await connection.command(['PING'])).toBe('PONG')
    expect(peer.heard.filter((command) => command === 'INCR n')).toHaveLength(1)
  })

  test('settles each command by what came before the drop', async () => {
    await open((args, socket) => {
      if (args[1] !== '3') return `:${args[1]}\r\n`
      socket.end(':3\r\n:')
      return undefined
    })
    const results = await Promise.allSettled([1, 2, 3, 4, 5].map((n) => connection.command(['ECHO', n])))
    expect(results.slice(0, 3)).toEqual([1, 2, 3].map((value) => ({ status: 'fulfilled', value })))
    for (const result of results.slice(3)) expect(result).toMatchObject({ reason: { sent: true, reason: 'dropped' } })
  })

  test('half closed by the server counts as dropped', async () => {
    await open((args, socket) => {
      // FIN only: the peer would still read.
      if (args[0] === 'GET') socket.end()
      return args[0] === 'PING' ? '+PONG\r\n' : undefined
    })
    expect(await failure(connection.command(['GET', 'k']))).toMatchObject({ sent: true, reason: 'dropped' })
    expect(await connection.command(['PING'])).toBe('PONG')
  })

  test('commands given while there is no link wait for the next one, in order', async () => {
    await open(() => '+OK\r\n')
    const { port } = peer
    await peer.stop()
    const given = ['a', 'b', 'c'].map((key) => connection.command(['DEL', key]))
    // Those of the first tick may have been written to the dying socket: their outcome is unknown, and that is said.
    const settled = await Promise.allSettled([...given, restart(port)])
    const later = ['d', 'e', 'f'].map((key) => connection.command(['DEL', key]))
    expect(await Promise.all(later)).toEqual(['OK', 'OK', 'OK'])
    const unknown = settled.slice(0, 3).filter(({ status }) => status === 'rejected').length
    expect(peer.heard.filter((command) => command.startsWith('DEL'))).toHaveLength(6 - unknown)
    expect(peer.heard.slice(-3)).toEqual(['DEL d', 'DEL e', 'DEL f'])
  })

  test("offline: 'fail' rejects unsent commands with the failed attempt, at once before the next one", async () => {
    await open(() => '+OK\r\n', { offline: 'fail', backoffMinMs: 20_000, backoffMaxMs: 20_000 })
    await peer.stop()
    while (connection.ready) await new Promise((resolve) => setImmediate(resolve))
    expect(await failure(connection.command(['PING']))).toMatchObject({ sent: false, reason: 'unreachable' })
  })

  test('the queue of waiting commands is bounded', async () => {
    await open(() => '+OK\r\n', { queueLimit: 2, backoffMinMs: 20_000, backoffMaxMs: 20_000 })
    await peer.stop()
    while (connection.ready) await new Promise((resolve) => setImmediate(resolve))
    const waiting = [connection.command(['A']), connection.command(['B'])].map(failure)
    expect(await failure(connection.command(['C']))).toMatchObject({ sent: false, reason: 'full' })
    await connection.close()
    for (const error of await Promise.all(waiting)) expect(error).toMatchObject({ sent: false, reason: 'closed' })
  })
})

describe('a command time-out', () => {
  test('tears the link down, so that the late reply meets nobody', async () => {
    // A server answers in order: on the socket where SLOW hangs, nothing behind it is answered either.
    await open((args, socket) => (socket === peer.sockets[0] ? undefined : `$1\r\n${args[1]}\r\n`))
    const slow = failure(connection.command(['SLOW'], { timeoutMs: 1_000 }))
    await peer.whenHeard(2)
    const behind = failure(connection.command(['GET', 'x']))
    expect(await slow).toMatchObject({ sent: true, reason: 'timeout' })
    expect(await behind).toMatchObject({ sent: true, reason: 'dropped' })
    // The reply to SLOW, if it still came, would come on the old socket.
    peer.sockets[0]?.write('$4\r\nlate\r\n')
    expect(await connection.command(['GET', 'y'])).toBe('y')
    expect(peer.sockets).toHaveLength(2)
  })

  test('a shorter one than those before it is still in time', async () => {
    await open(() => undefined)
    const long = failure(connection.command(['LONG'], { timeoutMs: 30_000 }))
    // Long enough to be written first, however busy the machine: overdue before that, it would leave the link alone.
    const short = failure(connection.command(['SHORT'], { timeoutMs: 1_000 }))
    expect(await short).toMatchObject({ sent: true, reason: 'timeout' })
    expect(await long).toMatchObject({ sent: true, reason: 'dropped' })
  })

  test('of a command that was never sent leaves it unsent', async () => {
    await open(() => '+OK\r\n', { backoffMinMs: 20_000, backoffMaxMs: 20_000 })
    await peer.stop()
    while (connection.ready) await new Promise((resolve) => setImmediate(resolve))
    expect(await failure(connection.command(['PING'], { timeoutMs: 10 }))).toMatchObject({
      sent: false,
      reason: 'unreachable',
    })
  })

  test('does not strike when the event loop was blocked and the reply is there', async () => {
    await open(() => undefined)
    const reply = connection.command(['PING'], { timeoutMs: 1_000 })
    await peer.whenHeard(2)
    peer.sockets[0]?.write('+PONG\r\n')
    blockFor(1_200)
    expect(await reply).toBe('PONG')
  })

  test('that passes before the tick ends leaves the command unsent', async () => {
    await open(() => '+OK\r\n')
    const late = failure(connection.command(['SET', 'k', 'v'], { timeoutMs: 5 }))
    blockFor(20)
    expect(await late).toMatchObject({ sent: false, reason: 'timeout' })
    expect(await connection.command(['PING'])).toBe('OK')
    expect(peer.heard).toEqual(['HELLO 3', 'PING'])
  })

  test('refuses a time-out out of range', async () => {
    await open(() => '+OK\r\n')
    for (const timeoutMs of [0, -1, Number.NaN, 1.5, Number.POSITIVE_INFINITY])
      expect(await failure(connection.command(['PING'], { timeoutMs }))).toMatchObject({ code: 'HF_USAGE' })
  })
})

describe('nonsense from the peer', () => {
  test.each([
    ['no RESP', 'HTTP/1.1 400 Bad Request\r\n'],
    ['a reply of 64 MB', '$67108864\r\n'],
    ['a depth bomb', '*1\r\n'.repeat(65)],
  ])('%s closes the link with a typed error', async (_, bytes) => {
    await open((args) => (args[0] === 'GET' ? bytes : args[0] === 'PING' ? '+PONG\r\n' : undefined))
    const [first, second] = [failure(connection.command(['GET', 'k'])), failure(connection.command(['TTL', 'k']))]
    expect(await first).toBeInstanceOf(ProtocolError)
    expect(await first).toMatchObject({ sent: true, code: 'HF_STORE' })
    const behind = await second
    expect(behind).toMatchObject({ sent: true, reason: 'dropped' })
    expect(behind.cause).toBe(await first)
    expect(await connection.command(['PING'])).toBe('PONG')
  })

  test('a reply that nobody asked for closes the link', async () => {
    await open((args) => (args[0] === 'GET' ? '$1\r\na\r\n$1\r\nb\r\n' : '+PONG\r\n'))
    expect(await connection.command(['GET', 'k'])).toBe('a')
    await peer.whenConnected(2)
    expect(await connection.command(['PING'])).toBe('PONG')
  })

  test('an error reply rejects its own command only', async () => {
    await open((args) => (args[0] === 'GET' ? '-WRONGTYPE no string\r\n' : '+OK\r\n'))
    const [bad, good] = await Promise.allSettled([
      connection.command(['GET', 'k']),
      connection.command(['SET', 'k', 1]),
    ])
    expect(bad).toMatchObject({ reason: { kind: 'WRONGTYPE', reply: 'WRONGTYPE no string', code: 'HF_STORE' } })
    expect(bad.status === 'rejected' && bad.reason).toBeInstanceOf(ReplyError)
    expect(good).toEqual({ status: 'fulfilled', value: 'OK' })
  })
})

describe('close', () => {
  test('settles everything, and later commands are refused', async () => {
    await open(() => undefined)
    const sent = failure(connection.command(['GET', 'k']))
    await peer.whenHeard(2)
    const unsent = failure(connection.command(['GET', 'l']))
    const closed = connection.close()
    expect(await sent).toMatchObject({ sent: true, reason: 'closed' })
    expect(await unsent).toMatchObject({ sent: false, reason: 'closed' })
    await closed
    expect(await failure(connection.command(['PING']))).toBeInstanceOf(ClosedError)
    await connection.close()
  })

  test('before anything was opened, and while an attempt is under way', async () => {
    await open(() => undefined)
    await new Connection({ port: peer.port }).close()
    const other = new Connection({ port: peer.port })
    const connecting = failure(other.connect())
    await other.close()
    expect(await connecting).toMatchObject({ sent: false, reason: 'closed' })
  })
})
