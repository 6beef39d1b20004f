import { connect, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { exchange } from '../../src/testbed/exchange.ts'
import { freePort, freePorts } from '../../src/testbed/port.ts'
import { until } from '../../src/testbed/until.ts'

test('free ports differ, can be listened on, and are no source ports of connections', async () => {
  const ports = await freePorts(50)
  expect(new Set(ports).size).toBe(50)
  const port = await freePort()
  const server = createServer((socket) => socket.end('hello'))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const socket = connect(port, '127.0.0.1')
  await new Promise((resolve) => socket.once('data', resolve))
  expect(ports).not.toContain(socket.localPort)
  expect(Math.max(...ports)).toBeLessThan(socket.localPort ?? 0)
  socket.destroy()
  server.close()
})

test('an exchange ends by the answer, by a hang-up, or by its time', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      if (bytes.toString() === 'bye') socket.end()
      else if (bytes.toString() === 'hi') socket.write('hello')
    })
  })
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  expect((await exchange({ port, send: 'hi', done: isHello })).toString()).toBe('hello')
  await expect(exchange({ port, send: 'bye', done: isHello })).rejects.toThrow('hung up')
  await expect(exchange({ port, send: 'hm', done: isHello, timeoutMs: 20 })).rejects.toThrow('no answer')
  await expect(exchange({ port, send: 'hi', done: () => fail() })).rejects.toThrow('no such answer')
  server.close()
})

test('until gives up at its time or when there is no hope, with the last cause', async () => {
  await expect(until(notYet, { what: 'x', withinMs: 10 })).rejects.toMatchObject({
    message: 'x: not within 10 ms',
    cause: expect.objectContaining({ message: 'not yet' }) as unknown,
  })
  await expect(until(notYet, { what: 'x', hopeless: () => 'dead', detail: () => ', log' })).rejects.toThrow(
    'x: dead, log',
  )
})

function isHello(bytes: Buffer): boolean {
  return bytes.length === 5
}

function notYet(): Promise<void> {
  return Promise.reject(new Error('not yet'))
}

function fail(): never {
  throw new Error('no such answer')
}
