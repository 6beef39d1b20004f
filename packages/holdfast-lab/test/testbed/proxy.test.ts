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

test('passes bytes both ways and counts them', async () => {
  const a = await connected()
  a.socket.write('hello')
  expect(await a.until(5)).toBe('hello')
  expect(proxy.counts).toEqual({
    connections: 1,
    open: 1,
    toServerBytes: 5,
    toClientBytes: 5,
    heldBytes: 0,
    droppedBytes: 0,
  })
})

test('passes four megabytes through a slow reader, unchanged', async () => {
  const a = await connected()
  const sent = 'abcdefgh'.repeat(1 << 19)
  a.socket.pause()
  a.socket.write(sent)
  await new Promise((resolve) => setImmediate(resolve))
  a.socket.resume()
  expect((await a.until(sent.length)) === sent).toBe(true)
})

test('a half-closed client still gets its answer, and both ends close', async () => {
  const a = await connected()
  a.socket.end('last words')
  expect(await a.over).toBe('end')
  expect(a.received()).toBe('last words')
  await echo.until(() => echo.open() === 0)
})

test('delay keeps the order of bytes and is taken back at once', async () => {
  const a = await connected()
  await proxy.set({ delayMs: { toServer: 60 } })
  for (const piece of ['1', '2', '3', '4']) {
    a.socket.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await a.until(4)).toBe('1234')
  await proxy.set({ delayMs: 600_000 })
  a.socket.write('5')
  await expect.poll(() => proxy.counts.heldBytes).toBe(1)
  await proxy.set({ delayMs: 0 })
  expect(await a.until(5)).toBe('12345')
})

test('hold towards the server queues bytes and lets them out on heal', async () => {
  const a = await connected()
  await proxy.set({ toServer: 'hold' })
  a.socket.write('late')
  await expect.poll(() => proxy.counts.heldBytes).toBe(4)
  expect(echo.received()).toBe('')
  await proxy.heal()
  expect(await a.until(4)).toBe('late')
})

test('hold towards the client: the server acts, the client hears it later', async () => {
  const a = await connected()
  await proxy.set({ toClient: 'hold' })
  a.socket.write('acted')
  await echo.until(() => echo.received() === 'acted')
  await expect.poll(() => proxy.counts.heldBytes).toBe(5)
  expect(a.received()).toBe('')
  await proxy.heal()
  expect(await a.until(5)).toBe('acted')
})

test('a long hold makes the sender wait instead of filling the memory', async () => {
  const a = await connected()
  await proxy.set({ toServer: 'hold' })
  const sent = 'x'.repeat(32 << 20)
  a.socket.write(sent)
  await expect.poll(() => proxy.counts.heldBytes, { timeout: 30_000 }).toBeGreaterThan(1 << 20)
  expect(proxy.counts.heldBytes).toBeLessThan(4 << 20)
  await proxy.heal()
  expect((await a.until(sent.length)).length).toBe(sent.length)
})

test('hold hides even the end of the server from the client', async () => {
  const a = await connected()
  a.socket.write('1')
  await a.until(1)
  await proxy.set({ toServer: 'hold', toClient: 'hold' })
  echo.close()
  await echo.until(() => echo.open() === 0)
  expect(proxy.counts.open).toBe(1)
  expect(a.socket.destroyed).toBe(false)
  await proxy.heal()
  await a.over
})

test('a connection made in a black hole reaches the server on heal', async () => {
  await proxy.set({ toServer: 'hold' })
  const a = await connected()
  a.socket.write('knock')
  await expect.poll(() => proxy.counts.heldBytes).toBe(5)
  expect(echo.open()).toBe(0)
  await proxy.heal()
  expect(await a.until(5)).toBe('knock')
})

test('drop discards; sockets stay open, and heal resets the connection that lost bytes, not the other', async () => {
  const torn = await connected()
  const whole = await connected()
  torn.socket.write('1')
  whole.socket.write('2')
  await Promise.all([torn.until(1), whole.until(1)])
  await proxy.set({ toServer: 'drop' })
  torn.socket.write('gone')
  await expect.poll(() => proxy.counts.droppedBytes).toBe(4)
  expect(torn.socket.destroyed).toBe(false)
  await proxy.heal()
  expect(await torn.over).toBe('ECONNRESET')
  whole.socket.write('3')
  expect(await whole.until(2)).toBe('23')
  expect(echo.received()).not.toContain('gone')
})

test('refuses new connections while the open ones go on, and accepts again on the same port', async () => {
  const a = await connected()
  await proxy.set({ accept: false })
  await expect(client(proxy.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  a.socket.write('still')
  expect(await a.until(5)).toBe('still')
  await proxy.heal()
  const b = await connected()
  b.socket.write('new')
  expect(await b.until(3)).toBe('new')
})

test('reset cuts all connections at both ends', async () => {
  const both = [await connected(), await connected()]
  for (const { socket } of both) socket.write('x')
  await Promise.all(both.map((each) => each.until(1)))
  proxy.reset()
  expect(await Promise.all(both.map((each) => each.over))).toEqual(['ECONNRESET', 'ECONNRESET'])
  await echo.until(() => echo.open() === 0)
  expect(proxy.counts.open).toBe(0)
})

test('an upstream that is not there resets the client', async () => {
  echo.close()
  const a = await connected()
  expect(await a.over).toBe('ECONNRESET')
})

test('bad faults are refused', async () => {
  await expect(proxy.set({ toServer: 'lose' as 'drop' })).rejects.toMatchObject({ code: 'HF_USAGE' })
  await expect(proxy.set({ delayMs: -1 })).rejects.toMatchObject({ code: 'HF_USAGE' })
  expect(() => proxy.cutAfter('toServer', 1.5)).toThrow('not a number of bytes')
  await proxy.close()
  await expect(proxy.set({ toServer: 'hold' })).rejects.toMatchObject({ code: 'HF_USAGE' })
})

test('close is idempotent, resets clients and frees the port', async () => {
  const a = await connected()
  await proxy.close()
  await proxy.close()
  expect(await a.over).toBe('ECONNRESET')
  await expect(client(proxy.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' })
})
