/**
 * A request that can't be judged gets an answer, and no error gets loose: a rejection nobody handles ends a Node
 * process.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { memory } from '../../src/stores/memory/index.ts'
import { cellMemory, fenceHeaders, type HttpGuardOptions, httpGuard, type WithHeaders } from '../../src/fence/index.ts'
import { holdfast, StoreUnreachableError } from '../../src/index.ts'

async function statusOf(options: HttpGuardOptions<WithHeaders>): Promise<number> {
  await using hf = await holdfast(memory())
  const held = await hf.mutex('stock:42').acquire()
  const guard = httpGuard(options)
  const listener = guard.node((_request, response: ServerResponse) => response.end('done'))
  let loose: unknown = null
  const server = createServer((request, response) => {
    listener(request, response).catch((error: unknown) => {
      loose = error
      response.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'PUT', headers: fenceHeaders(held) })
    expect(response.status === 200 || response.headers.get('content-type')).not.toBe(null)
    return response.status
  } catch (error) {
    throw loose ?? error
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

test('a name that is too long is refused', async () => {
  expect(await statusOf({ resource: () => 'x'.repeat(5_000) })).toBe(400)
})

test('a memory that is out of reach is a 503', async () => {
  const down = new StoreUnreachableError('down')
  expect(await statusOf({ resource: () => 'stock:42', memory: () => Promise.reject(down) })).toBe(503)
})

test('a newer holder behind a handler that never answers is told so within waitMs', async () => {
  await using hf = await holdfast(memory())
  const guard = httpGuard<Request>({ resource: () => 'stock:42', waitMs: 50 })
  const held = await hf.mutex('stock:42').acquire()
  const stuck = guard.fetch(() => new Promise<Response>(() => undefined))
  void stuck(new Request('http://s/', { headers: fenceHeaders(held) }))
  await held.release()
  const newer = await hf.mutex('stock:42').acquire()
  const served = guard.fetch(() => new Response('done'))
  for (let i = 0; i < 2; i++) {
    const answer = await served(new Request('http://s/', { headers: fenceHeaders(newer) }))
    expect([answer.status, ((await answer.json()) as { type: string }).type]).toEqual([
      503,
      'urn:holdfast:older-at-work',
    ])
  }
})

test('a token that two places claim is that of the first, also in a memory that processes share', async () => {
  await using hf = await holdfast(memory())
  const remember = cellMemory(hf)
  await remember('stock:42', { line: 'l', token: 5n, place: '0123456789abcdef' })
  await remember('stock:42', { line: 'l', token: 5n, place: '0123456789abcdef' })
  await expect(remember('stock:42', { line: 'l', token: 5n, place: 'fedcba9876543210' })).rejects.toMatchObject({
    code: 'HF_STALE_TOKEN',
    newest: 5n,
  })
  await expect(remember('stock:42', { line: 'l', token: 4n, place: '0123456789abcdef' })).rejects.toMatchObject({
    newest: 5n,
  })
})

test('what the service itself got wrong is a 500', async () => {
  const resource = (): string => {
    throw new Error('no such parameter')
  }
  expect(await statusOf({ resource })).toBe(500)
  expect(await statusOf({ resource: () => 'stock:42', memory: () => Promise.reject(new Error('no table')) })).toBe(500)
})
