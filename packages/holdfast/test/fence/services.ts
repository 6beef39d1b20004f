/** The same small service in each framework: a number that is read and written behind the guard. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import express, { type Request as ExpressRequest } from 'express'
import fastify, { type FastifyRequest } from 'fastify'
import { onTestFinished } from 'vitest'
import { httpGuard, type HttpGuardOptions, type WithHeaders } from '../../src/fence/index.ts'

export interface Service {
  readonly url: string
  /** What is protected. */
  n: number
  /** Called by the handler before it writes. */
  beforeWrite: () => Promise<void> | void
}

export type Framework = 'node:http' | 'Express' | 'Fastify' | 'fetch'

type Options = Pick<HttpGuardOptions<WithHeaders>, 'memory' | 'required' | 'resourcesMax'>

/** `/NAME` is the resource NAME; the body of a PUT is the number. */
export async function serve(framework: Framework, options: Options = {}): Promise<Service> {
  const service = { url: '', n: 0, beforeWrite: () => undefined } as { -readonly [K in keyof Service]: Service[K] }
  const handle = async (method: string, body: string): Promise<string> => {
    if (method === 'PUT') {
      await service.beforeWrite()
      service.n = Number(body)
    }
    return String(service.n)
  }
  const server = createServer(await LISTENERS[framework](handle, options)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/stock`
  return service
}

type Handle = (method: string, body: string) => Promise<string>
type Listen = (handle: Handle, options: Options) => RequestListener | Promise<RequestListener>

const resource = (url: string | undefined): string =>
  decodeURIComponent(new URL(url ?? '', 'http://h').pathname.slice(1))

const LISTENERS: Record<Framework, Listen> = {
  'node:http': (handle, options) =>
    httpGuard<IncomingMessage>({ ...options, resource: ({ url }) => resource(url) }).node(
      async (request, response: ServerResponse) => {
        response.end(await handle(request.method ?? '', await text(request)))
      },
    ),
  Express(handle, options) {
    const app = express()
    const guard = httpGuard<ExpressRequest>({ ...options, resource: ({ params }) => params.name as string })
    app.use(express.text({ type: '*/*' }))
    app.all('/:name', guard.express, async (request, response) => {
      response.send(await handle(request.method ?? '', String(request.body)))
    })
    app.use((error: unknown, _request: unknown, response: ServerResponse, _next: unknown) => {
      response.writeHead(500).end(String(error))
    })
    return app
  },
  async Fastify(handle, options) {
    const app = fastify()
    const guard = httpGuard<FastifyRequest>({
      ...options,
      resource: ({ params }) => (params as { name: string }).name,
    })
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
    app.all('/:name', { preHandler: guard.fastify as never }, (request) => handle(request.method, String(request.body)))
    await app.ready()
    return (request, response) => app.routing(request, response)
  },
  fetch(handle, options) {
    const guard = httpGuard<Request>({ ...options, resource: ({ url }) => resource(url) })
    const fetchHandler = guard.fetch(
      async (request: Request) => new Response(await handle(request.method, await request.text())),
    )
    return (request, response) => void bridge(fetchHandler, request, response)
  },
}

/** As servers for fetch handlers do. */
async function bridge(
  handler: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD'
  const request = new Request(`http://h${incoming.url}`, {
    method: incoming.method ?? 'GET',
    headers: incoming.headers as Record<string, string>,
    ...(hasBody ? { body: Readable.toWeb(incoming) as never, duplex: 'half' } : {}),
  } as RequestInit)
  try {
    const response = await handler(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text())
  } catch (error) {
    outgoing.writeHead(500).end(String(error))
  }
}
