/** The middleware over real HTTP on loopback: fields, refusals, outages. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { fastify } from 'fastify'
import { afterEach, describe, expect, test } from 'vitest'
import { FaultyDriver, lost } from '../../conformance/faulty.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { holdfast, type Limiter, type LimiterOptions, UsageError } from '../../src/index.ts'
import { fastifyRateLimit, fetchRateLimit, rateLimit } from '../../src/rate-limit/index.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

async function serve(listener: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => void listener(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function limiterOf(options: Partial<LimiterOptions> = {}, name = 'api'): Promise<Limiter> {
  const hf = await holdfast('memory:')
  return hf.limiter(name, { limit: 2, perMs: 60_000, ...options })
}

const PROBLEM = 'application/problem+json'

describe('node:http and Express', () => {
  test('a header that is empty or endless is a key like any other', async () => {
    const key = (request: IncomingMessage): string => String(request.headers['x-api-key'])
    const limited = rateLimit(await limiterOf({ limit: 1 }), { key })
    const url = await serve(async (request, response) => {
      if (await limited(request, response)) response.end('served')
    })
    for (const sent of ['', 'x'.repeat(257), 'x'.repeat(5_000)]) {
      const statuses = []
      for (let i = 0; i < 2; i++) statuses.push((await fetch(url, { headers: { 'x-api-key': sent } })).status)
      expect(statuses, `${sent.length} bytes`).toEqual([200, 429])
    }
  })

  test('lets through with the fields, then refuses with 429 and a problem document', async () => {
    const limited = rateLimit(await limiterOf())
    const url = await serve(async (request, response) => {
      if (await limited(request, response)) response.end('served')
    })
    const first = await fetch(url)
    expect([first.status, await first.text()]).toEqual([200, 'served'])
    expect(first.headers.get('ratelimit-policy')).toBe('"api";q=2;w=60')
    expect(first.headers.get('ratelimit')).toBe('"api";r=1;t=30')
    expect(first.headers.get('retry-after')).toBe(null)
    await fetch(url)
    const refused = await fetch(url)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('content-type')).toBe(PROBLEM)
    expect(refused.headers.get('ratelimit')).toMatch(/^"api";r=0;t=[56]\d$/)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(28)
    expect(await refused.json()).toMatchObject({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      status: 429,
      'violated-policies': ['api'],
    })
  })

  test('as middleware: next is called once, and errors go to it', async () => {
    const keys: (string | null)[] = ['a', 'a', 'a', null, 7 as never]
    const limited = rateLimit(await limiterOf(), { key: () => keys.shift() ?? null, cost: () => 2 })
    const url = await serve((request, response) => {
      void limited(request, response, (error) => {
        response.statusCode = error === undefined ? 200 : 500
        response.end(error instanceof Error ? error.name : 'next')
      })
    })
    const answers = []
    for (let i = 0; i < 5; i++) {
      const response = await fetch(url)
      answers.push([
        response.status,
        response.headers.get('content-type') === PROBLEM ? 'problem' : await response.text(),
      ])
    }
    expect(answers).toEqual([
      [200, 'next'],
      [429, 'problem'],
      [429, 'problem'],
      [200, 'next'],
      [500, 'UsageError'],
    ])
  })

  test('a shut key is told as such; a period that is no whole seconds is told as a rate over whole ones', async () => {
    const options = { limit: 3, perMs: 1_500, burst: 1, penalty: { after: 1, shutMs: 60_000 } }
    const limited = rateLimit(await limiterOf(options, 'naïve "x"'), { key: () => 'k' })
    const url = await serve(async (request, response) => {
      if (await limited(request, response)) response.end()
    })
    expect((await fetch(url)).headers.get('ratelimit-policy')).toBe('"na%C3%AFve \\"x\\"";q=6;w=3')
    let refused = await fetch(url)
    while (Number(refused.headers.get('retry-after')) < 10) refused = await fetch(url)
    expect(((await refused.json()) as { type: string }).type).toMatch(/#abnormal-usage-detected$/)
  })

  test('while the store is silent: 503 when closed, served and uncounted when open', async () => {
    const hf = await holdfast(
      new FaultyDriver(memory(), {
        before(call) {
          throw lost(call)
        },
      }),
      { connectTimeoutMs: 50 },
    )
    const rate = { limit: 2, perMs: 1_000 }
    const [closed, open] = [hf.limiter('c', rate), hf.limiter('o', { ...rate, whenDown: 'open' })].map((limiter) =>
      rateLimit(limiter, { key: () => 'k' }),
    ) as [ReturnType<typeof rateLimit>, ReturnType<typeof rateLimit>]
    const url = await serve(async (request: IncomingMessage, response: ServerResponse) => {
      if (await (request.url === '/open' ? open : closed)(request, response)) response.end('served')
    })
    const refused = await fetch(url)
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
    const served = await fetch(`${url}open`)
    expect([served.status, await served.text(), served.headers.get('ratelimit')]).toEqual([200, 'served', null])
  })
})

test('Express: as its middleware, and its error handler gets what goes wrong', async () => {
  const app = express()
  const limiter = await limiterOf({ limit: 1 })
  app.use(rateLimit(limiter, { key: ({ headers }) => (headers['x-user'] || 7) as string }))
  app.use((_request: unknown, response: ServerResponse) => response.end('served'))
  app.use((error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
    response.statusCode = 500
    response.end((error as Error).name)
  })
  const url = await serve(app)
  const answers = []
  for (const user of ['u', 'u', '']) {
    const response = await fetch(url, { headers: { 'x-user': user } })
    answers.push([response.status, response.headers.get('ratelimit')])
  }
  expect(answers).toEqual([
    [200, '"api";r=0;t=60'],
    [429, expect.stringMatching(/^"api";r=0;t=[56]\d$/)],
    [500, null],
  ])
})

test('Fastify: as its onRequest hook', async () => {
  const app = fastify()
  app.addHook('onRequest', fastifyRateLimit(await limiterOf({ limit: 1 })))
  app.get('/', async () => 'served')
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  closers.push(() => void app.close())
  const served = await fetch(url)
  expect([served.status, await served.text(), served.headers.get('ratelimit')]).toEqual([
    200,
    'served',
    '"api";r=0;t=60',
  ])
  const refused = await fetch(url)
  expect([refused.status, refused.headers.get('content-type')?.split(';')[0]]).toEqual([429, PROBLEM])
  expect(await refused.json()).toMatchObject({ status: 429 })
})

test('a fetch handler gets the fields on its own response, and needs a key', async () => {
  const limiter = await limiterOf({ limit: 1 })
  const handler = (): Response => Response.redirect('http://127.0.0.1/elsewhere', 302)
  const limited = fetchRateLimit(limiter, handler, { key: (request) => request.headers.get('x-user') })
  const request = new Request('http://127.0.0.1/', { headers: { 'x-user': 'u' } })
  const first = await limited(request)
  expect([first.status, first.headers.get('ratelimit'), first.headers.get('location')]).toEqual([
    302,
    '"api";r=0;t=60',
    'http://127.0.0.1/elsewhere',
  ])
  expect((await limited(request)).status).toBe(429)
  expect((await limited(new Request('http://127.0.0.1/'))).status).toBe(302)
  expect(() => fetchRateLimit(limiter, handler, {} as never)).toThrow(UsageError)
  expect(() => rateLimit(limiter, { keys: 1 } as never)).toThrow(/has no option "keys"/)
})
