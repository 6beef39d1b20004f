/** `holdfast/rate-limit`: a limiter in front of HTTP: node:http, Express and its like, Fastify, and fetch handlers. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkFunction } from '../contract/check.ts'
import type { Limiter } from '../kit/limiter/limiter.ts'
import { gate, type RateLimitOptions } from './gate.ts'

export type { RateLimitOptions } from './gate.ts'

const PROBLEM_JSON = 'application/problem+json'

/** Express calls it with `next`, node:http without. True: go on. False: the middleware has answered the request. */
export type NodeMiddleware<Request> = (
  request: Request,
  response: Pick<ServerResponse, 'setHeader' | 'end' | 'statusCode'>,
  next?: (error?: unknown) => void,
) => Promise<boolean>

/**
 * For node:http and Express. The default key is the address of the other end, of IPv6 its /64. Behind a proxy, give a
 * `key`.
 */
export function rateLimit<Request extends Pick<IncomingMessage, 'socket'> = IncomingMessage>(
  limiter: Limiter,
  options?: RateLimitOptions<Request>,
): NodeMiddleware<Request> {
  const decide = gate(limiter, options, (request) => request.socket.remoteAddress)
  return async (request, response, next) => {
    try {
      const { fields, problem } = await decide(request)
      for (const [name, value] of Object.entries(fields)) response.setHeader(name, value)
      if (problem !== null) {
        response.statusCode = problem.status
        response.setHeader('Content-Type', PROBLEM_JSON)
        response.end(JSON.stringify(problem))
        return false
      }
    } catch (error) {
      if (next === undefined) throw error
      next(error)
      return false
    }
    next?.()
    return true
  }
}

/** The part of Fastify's reply that we call. */
export interface FastifyReplyLike {
  code(status: number): unknown
  header(name: string, value: string): unknown
  send(body: string): unknown
}

/**
 * For Fastify: `app.addHook('onRequest', fastifyRateLimit(limiter))`. The default key is `request.ip`, of IPv6 its /64.
 */
export function fastifyRateLimit<Request extends { readonly ip: string }>(
  limiter: Limiter,
  options?: RateLimitOptions<Request>,
): (request: Request, reply: FastifyReplyLike) => Promise<unknown> {
  const decide = gate(limiter, options, (request) => request.ip)
  return async (request, reply) => {
    const { fields, problem } = await decide(request)
    for (const [name, value] of Object.entries(fields)) reply.header(name, value)
    if (problem === null) return undefined
    reply.code(problem.status)
    reply.header('Content-Type', PROBLEM_JSON)
    reply.send(JSON.stringify(problem))
    return reply
  }
}

/** For fetch handlers: returns a handler that asks the limiter first. `key` must be given. */
export function fetchRateLimit<Rest extends readonly unknown[]>(
  limiter: Limiter,
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
  options: RateLimitOptions<Request> & { readonly key: NonNullable<RateLimitOptions<Request>['key']> },
): (request: Request, ...rest: Rest) => Promise<Response> {
  const decide = gate<Request>(limiter, options, null)
  checkFunction('the handler', handler)
  return async (request, ...rest) => {
    const { fields, problem } = await decide(request)
    if (problem !== null) {
      const headers = { ...fields, 'Content-Type': PROBLEM_JSON }
      return new Response(JSON.stringify(problem), { status: problem.status, headers })
    }
    const response = await handler(request, ...rest)
    // A network error (`Response.error()`, status 0) has no headers, and can't be copied.
    if (response.type === 'error') return response
    // A response may come from elsewhere, with headers that can't be changed, so copy it.
    const answer = new Response(response.body, response)
    for (const [name, value] of Object.entries(fields)) answer.headers.set(name, value)
    return answer
  }
}
