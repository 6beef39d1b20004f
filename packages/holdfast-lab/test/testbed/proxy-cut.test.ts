import { afterEach, beforeEach, expect, test } from 'vitest'
import { type FaultProxy, faultProxy } from '../../src/testbed/proxy.ts'
import { type Client, client, type Echo, echoServer } from './tcp.ts'

let echo: Echo
let proxy: FaultProxy
const clients: Client[] = []

beforeEach(async () => {
  echo = await echoServer()
  proxy = await faultProxy({ port: echo.port })
})

afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy()
  await proxy.close()
  echo.close()
})

async function connected(): Promise<Client> {
  const made = await client(proxy.port)
  clients.push(made)
  return made
}

test('a lost reply: the server has it, the client gets a reset and nothing else', async () => {
  const a = await connected()
  a.socket.write('before')
  await a.until(6)
  const lost = proxy.loseNextReply()
  a.socket.write('request')
  expect(await lost).toBe(true)
  expect(await a.over).toBe('ECONNRESET')
  expect(a.received()).toBe('before')
  expect(echo.received()).toBe('beforerequest')
  await echo.until(() => echo.open() === 0)
})

test('a lost reply can be that of a certain request, and costs one connection only', async () => {
  const a = await connected()
  const b = await connected()
  const lost = proxy.loseNextReply({ match: (bytes) => bytes.includes('LOCK') })
  a.socket.write('PING')
  expect(await a.until(4)).toBe('PING')
  b.socket.write('LOCK')
  expect(await lost).toBe(true)
  expect(await b.over).toBe('ECONNRESET')
  a.socket.write('LOCK')
  expect(await a.until(8)).toBe('PINGLOCK')
})

test('a lost reply that is never needed is disarmed by heal and by close', async () => {
  const first = proxy.loseNextReply()
  await proxy.heal()
  expect(await first).toBe(false)
  const second = proxy.loseNextReply()
  await proxy.close()
  expect(await second).toBe(false)
  expect(await proxy.loseNextReply()).toBe(false)
})

test('a client that goes away first makes it false', async () => {
  const a = await connected()
  await proxy.set({ toClient: 'hold' })
  const lost = proxy.loseNextReply()
  await proxy.set({ toServer: 'hold' })
  a.socket.write('x')
  await expect.poll(() => proxy.counts.heldBytes).toBe(1)
  proxy.reset()
  await a.over
  await proxy.heal()
  expect(await lost).toBe(false)
})

test.each([0, 1, 3])('cut after %i bytes towards the server: exactly those arrive', async (bytes) => {
  const a = await connected()
  const cut = proxy.cutAfter('toServer', bytes)
  a.socket.write('abcdef')
  expect(await cut).toBe(true)
  expect(await a.over).toBe('ECONNRESET')
  await echo.until(() => echo.open() === 0)
  expect(echo.received()).toBe('abcdef'.slice(0, bytes))
})

test('cut after 4 bytes towards the client, counted over several chunks', async () => {
  const a = await connected()
  const cut = proxy.cutAfter('toClient', 4)
  a.socket.write('ab')
  await a.until(2)
  a.socket.write('cdef')
  expect(await cut).toBe(true)
  expect(await a.over).toBe('end')
  expect(a.received()).toBe('abcd')
  expect(echo.received()).toBe('abcdef')
})

test('a greeting is held back like any other bytes', async () => {
  const greeter = await echoServer('220 ready\n')
  const front = await faultProxy({ host: '127.0.0.1', port: greeter.port })
  await front.set({ toClient: 'hold' })
  const a = await client(front.port)
  clients.push(a)
  await expect.poll(() => front.counts.heldBytes).toBe(10)
  await front.heal()
  expect(await a.until(10)).toBe('220 ready\n')
  await front.close()
  greeter.close()
})
