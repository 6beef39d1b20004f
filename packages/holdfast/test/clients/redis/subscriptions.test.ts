/** Subscriptions: confirmed before they count, renewed on every link, and never confused with replies. */
import { afterEach, describe, expect, test } from 'vitest'
import { Connection } from '../../../src/clients/redis/connection.ts'
import type { ConnectionOptions } from '../../../src/clients/redis/options.ts'
import type { Act, Peer } from './peer.ts'
import { greeting, startPeer } from './peer.ts'

let peer: Peer
let connection: Connection

async function open(act: Act, options: ConnectionOptions = {}): Promise<void> {
  peer = await startPeer(act)
  connection = new Connection({
    port: peer.port,
    backoffMinMs: 1,
    backoffMaxMs: 20,
    commandTimeoutMs: 30_000,
    ...options,
  })
  await connection.connect()
}

afterEach(async () => {
  await connection.close()
  await peer.stop()
})

function frame(type: '>' | '*', ...items: string[]): string {
  return `${type}${items.length}\r\n${items.map((item) => `$${Buffer.byteLength(item)}\r\n${item}\r\n`).join('')}`
}

const confirming: Act = (args) => {
  const kind = (args[0] as string).toLowerCase()
  return kind === 'subscribe' || kind === 'unsubscribe' ? frame('>', kind, args[1] as string, '1') : '+OK\r\n'
}

describe('in RESP3', () => {
  test('a subscription counts when it is confirmed, between replies that keep their order', async () => {
    await open(greeting(() => undefined))
    const order: string[] = []
    const note = (what: string) => (): number => order.push(what)
    const all = [
      connection.command(['A']).then(note('a')),
      connection.subscribe('c', (message) => order.push(message)).then(note('subscribed')),
      connection.command(['B']).then(note('b')),
    ]
    await peer.whenHeard(4)
    expect(peer.heard.slice(1)).toEqual(['A', 'SUBSCRIBE c', 'B'])
    peer.sockets[0]?.write(`+a\r\n${frame('>', 'subscribe', 'c', '1')}+b\r\n${frame('>', 'message', 'c', 'hello')}`)
    await Promise.all(all)
    // The message is handed over while the chunk is read, the promises right after.
    expect(order).toEqual(['hello', 'a', 'subscribed', 'b'])
  })

  test('an error rejects the subscription and leaves the order of replies intact', async () => {
    await open(greeting((args) => (args[0] === 'SUBSCRIBE' ? '-NOPERM no channel\r\n' : `$1\r\n${args[1]}\r\n`)))
    const [refused, reply] = await Promise.allSettled([
      connection.subscribe('c', () => undefined),
      connection.command(['GET', 'x']),
    ])
    expect(refused).toMatchObject({ reason: { kind: 'NOPERM' } })
    expect(reply).toEqual({ status: 'fulfilled', value: 'x' })
  })

  test('after a drop every channel is renewed before waiting commands, and then it is told', async () => {
    let again: () => void
    const resubscribed = new Promise<void>((resolve) => (again = resolve))
    const got: string[] = []
    await open(greeting(confirming), { events: { onResubscribed: () => again() } })
    await connection.subscribe('é', (message) => got.push(message))
    await connection.subscribe('b', (message) => got.push(message))
    await connection.subscribe('gone', (message) => got.push(message))
    await connection.unsubscribe('gone')
    const before = peer.heard.length
    peer.sockets[0]?.destroy()
    while (connection.ready) await new Promise((resolve) => setImmediate(resolve))
    expect(await connection.command(['PING'])).toBe('OK')
    await resubscribed
    expect(peer.heard.slice(before)).toEqual(['HELLO 3', 'SUBSCRIBE é', 'SUBSCRIBE b', 'PING'])
    peer.sockets[1]?.write(
      frame('>', 'message', 'é', '1') + frame('>', 'message', 'gone', '2') + frame('>', 'message', 'b', '3'),
    )
    while (got.length < 2) await new Promise((resolve) => setImmediate(resolve))
    expect(got).toEqual(['1', '3'])
  })

  test('a channel that is refused when it is renewed is asked for again, and commands do not suffer', async () => {
    let again: () => void
    const resubscribed = new Promise<void>((resolve) => (again = resolve))
    await open(greeting(confirming), { backoffMaxMs: 5, events: { onResubscribed: () => again() } })
    await connection.subscribe('c', () => undefined)
    let refusals = 0
    peer.act = greeting((args, socket) =>
      args[0] === 'SUBSCRIBE' && refusals++ < 2 ? '-NOPERM no channel\r\n' : confirming(args, socket),
    )
    peer.sockets[0]?.destroy()
    await peer.whenConnected(2)
    expect(await connection.command(['PING'])).toBe('OK')
    await resubscribed
    expect(refusals).toBe(3)
    expect(peer.sockets).toHaveLength(2)
  })

  test('a subscription whose confirmation is lost is rejected and not renewed', async () => {
    await open(
      greeting((args, socket) => {
        if (args[0] === 'SUBSCRIBE') socket.destroy()
        return '+OK\r\n'
      }),
    )
    await expect(connection.subscribe('c', () => undefined)).rejects.toMatchObject({ sent: true })
    expect(await connection.command(['PING'])).toBe('OK')
    expect(peer.heard.filter((command) => command.startsWith('SUBSCRIBE'))).toHaveLength(1)
    // The name is free again.
    peer.act = greeting(confirming)
    await connection.subscribe('c', () => undefined)
  })

  test('unsubscribing is done when the link is gone', async () => {
    await open(greeting(confirming))
    await connection.subscribe('c', () => undefined)
    peer.act = greeting((args, socket) => {
      if (args[0] === 'UNSUBSCRIBE') socket.destroy()
      return '+OK\r\n'
    })
    await connection.unsubscribe('c')
    await connection.unsubscribe('never')
    expect(await connection.command(['PING'])).toBe('OK')
    expect(peer.heard.filter((command) => command.startsWith('SUBSCRIBE'))).toHaveLength(1)
  })

  test('refuses a second listener and a channel that would not come back as it was sent', async () => {
    await open(greeting(confirming))
    await connection.subscribe('c', () => undefined)
    await expect(connection.subscribe('c', () => undefined)).rejects.toMatchObject({ code: 'HF_USAGE' })
    await expect(connection.subscribe('\ud800', () => undefined)).rejects.toMatchObject({ code: 'HF_USAGE' })
  })
})

describe('in RESP2', () => {
  test('a connection with a subscription hears messages and runs nothing else', async () => {
    const got: string[] = []
    await open((args) => (args[0] === 'SUBSCRIBE' ? frame('*', 'subscribe', args[1] as string, '1') : '*1\r\n+x\r\n'), {
      protocol: 2,
    })
    expect(await connection.command(['KEYS', '*'])).toEqual(['x'])
    const heard = new Promise<void>((resolve) => {
      const onMessage = (message: string): void => {
        got.push(message)
        resolve()
      }
      connection.subscribe('c', onMessage).then(() => peer.sockets[0]?.write(frame('*', 'message', 'c', 'hi')), resolve)
    })
    await heard
    expect(got).toEqual(['hi'])
    await expect(connection.command(['PING'])).rejects.toMatchObject({ code: 'HF_UNSUPPORTED' })
    await connection.connect()
  })
})
