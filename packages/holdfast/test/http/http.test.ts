/** The lifecycles of the real Fastify and Express. */
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import fastify from 'fastify'
import { expect, test } from 'vitest'
import { ClosedError } from '../../src/contract/errors.ts'
import { closeWithServer, fastifyHoldfast, type FastifyLike } from '../../src/http/index.ts'
import { holdfast, type Holdfast, UsageError } from '../../src/index.ts'

test('Fastify: the plugin decorates the whole app, and closes what is held with it', async () => {
  const hf = await holdfast('memory:')
  const app = fastify()
  await app.register(fastifyHoldfast as never, { holdfast: hf } as never)
  app.get('/count', async () =>
    (app as unknown as { readonly holdfast: Holdfast }).holdfast.mutex('count').using(() => ({ ok: true })),
  )
  expect((await app.inject('/count')).json()).toEqual({ ok: true })
  const held = await hf.mutex('kept').acquire()
  await app.close()
  expect(held.state).toBe('released')
  expect(() => hf.mutex('late')).toThrow(ClosedError)
})

test('Fastify: what is no instance is refused when the plugin is registered', async () => {
  await expect(fastifyHoldfast({} as FastifyLike, { holdfast: {} as Holdfast })).rejects.toBeInstanceOf(UsageError)
})

test('Express: a request that is being served keeps its lock to its end, then the instance closes', async () => {
  const hf = await holdfast('memory:')
  const app = express() as unknown as { use(handler: unknown): void }
  let begun = (): void => undefined
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve
  })
  app.use((_request: unknown, response: ServerResponse) => {
    void hf.mutex('slow').using(async (held) => {
      begun()
      await new Promise((resolve) => setTimeout(resolve, 100))
      held.assertHeld()
      response.statusCode = 204
      response.end()
    })
  })
  const server = createServer(app as unknown as RequestListener)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as AddressInfo
  const answer = fetch(`http://127.0.0.1:${port}/slow`, { method: 'POST', headers: { connection: 'close' } })
  await isBegun
  await closeWithServer(server, hf)
  expect((await answer).status).toBe(204)
  expect(() => hf.mutex('late')).toThrow(ClosedError)
})
