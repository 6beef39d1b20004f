/** A request that can't be judged gets an answer, and no error gets loose: a rejection nobody handles ends a Node process. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { memory } from '../../../src/drivers/memory/index.ts'
import { fenceHeaders, type HttpGuardOptions, httpGuard, type WithHeaders } from '../../../src/fence/index.ts'
import { holdfast, StoreUnreachableError } from '../../../src/index.ts'

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

test('what the service itself got wrong is a 500', async () => {
  const resource = (): string => {
    throw new Error('no such parameter')
  }
  expect(await statusOf({ resource })).toBe(500)
  expect(await statusOf({ resource: () => 'stock:42', memory: () => Promise.reject(new Error('no table')) })).toBe(500)
})
