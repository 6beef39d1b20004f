/** A guard for an HTTP service: refuses requests with a stale token before they reach the handler. */
import { checkBoolean, checkFunction, checkKeys, checkName, checkSpan, checkWhole } from '../../contract/check.ts'
import { diagnostics } from '../../contract/events.ts'
import { StaleTokenError, StoreUnreachableError, UsageError } from '../../contract/errors.ts'
import type { Proof } from '../proof.ts'
import { Gate } from './gate.ts'
import { requestProof, type WithHeaders } from './header.ts'
import {
  busyProblem,
  failureProblem,
  malformedProblem,
  missingProblem,
  outageProblem,
  type Problem,
  problemHeaders,
  staleProblem,
  unnamedProblem,
} from './problem.ts'

/**
 * Remembers the newest tokens beyond this process. Resolves for the newest token, rejects with StaleTokenError for an
 * older one.
 */
export type Remember = (resource: string, proof: Proof) => Promise<unknown>

/** Options of `httpGuard`. */
export interface HttpGuardOptions<R extends WithHeaders> {
  /**
   * Names what a request is about, such as 'stock:42'. One thing must always have one name, whatever its URL looks
   * like.
   */
  readonly resource: (request: R, proof: Proof) => string
  /**
   * A memory that other processes share, and that outlives this process: `cellMemory(hf)`, or the check of another
   * guard. Default none.
   */
  readonly memory?: Remember
  /** Whether a request without a token is refused (428) or passes unchecked. Default true. */
  readonly required?: boolean
  /**
   * How many resources this process remembers; it forgets the one used longest ago. Default 100 000; 1 to 10 000 000.
   */
  readonly resourcesMax?: number
  /**
   * How long a request waits while requests of an older holder are at work; then it is refused (503). Default 30 000;
   * Infinity waits on.
   */
  readonly waitMs?: number
  /**
   * A request that is still at work after this long no longer delays newer holders. What it writes later may come after
   * what they wrote, so check at the write. Default Infinity.
   */
  readonly turnMsMax?: number
}

/** The members of node:http's ServerResponse that the guard calls; Express and Fastify have them. */
export interface ServerAnswer {
  readonly closed: boolean
  writeHead(status: number, headers: Record<string, string>): unknown
  end(text: string): unknown
  once(event: 'close', listener: () => void): unknown
}

/** The members of a Fastify reply that the guard calls. */
export interface FastifyAnswer {
  readonly raw: ServerAnswer
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(text: string): unknown
}

/**
 * Each form refuses with a problem document: 409 stale, 400 malformed, 428 missing, 503 if the memory is out of reach
 * or an older holder is still at work.
 */
export interface HttpGuard<R extends WithHeaders> {
  /**
   * For node:http. The turn of a request lasts until its response is closed and the promise of the handler, if any, has
   * settled.
   */
  node<S extends ServerAnswer>(
    handler: (request: R, response: S) => unknown,
  ): (request: R, response: S) => Promise<void>
  /** A middleware for Express and others of its kind. The turn lasts until the response is closed. */
  readonly express: (request: R, response: ServerAnswer, next: (error?: unknown) => void) => void
  /** A preHandler hook for Fastify. The turn lasts until the response is closed. */
  readonly fastify: (request: R, reply: FastifyAnswer) => Promise<unknown>
  /** For handlers in the style of fetch. The turn lasts until the handler has settled. */
  fetch<A extends unknown[]>(
    handler: (request: R, ...rest: A) => Response | PromiseLike<Response>,
  ): (request: R, ...rest: A) => Promise<Response>
}

/** The outcome at the gate: the function that ends the turn, or why the request was refused. */
type Verdict = { readonly leave: () => void } | { readonly problem: Problem }

const NO_TURN: Verdict = { leave: () => undefined }

/** Makes the guard of an HTTP service: for node:http, Express, Fastify, Fetch. */
export function httpGuard<R extends WithHeaders>(options: HttpGuardOptions<R>): HttpGuard<R> {
  const known = ['resource', 'memory', 'required', 'resourcesMax', 'waitMs', 'turnMsMax']
  const given = checkKeys('httpGuard options', options, known) as Partial<HttpGuardOptions<R>>
  const { memory, required = true, resourcesMax = 100_000, waitMs = 30_000 } = given
  const { turnMsMax = Number.POSITIVE_INFINITY } = given
  const resourceOf = checkFunction('resource', given.resource as HttpGuardOptions<R>['resource'])
  if (memory !== undefined) checkFunction('memory', memory)
  checkBoolean('required', required)
  const gate = new Gate({
    resourcesMax: checkWhole('resourcesMax', resourcesMax, 1, 10_000_000),
    waitMs: checkSpan('waitMs', waitMs),
    turnMsMax: checkSpan('turnMsMax', turnMsMax, 1),
  })

  async function judge(request: R): Promise<Verdict> {
    const proof = readProof(request)
    if (proof === null) return required ? { problem: missingProblem() } : NO_TURN
    if ('problem' in proof) return proof
    const resource = nameOf(resourceOf(request, proof))
    if (typeof resource !== 'string') return resource
    try {
      const leave = await gate.enter(resource, proof)
      if (leave === null) return { problem: busyProblem() }
      try {
        await memory?.(resource, proof)
      } catch (error) {
        leave()
        throw error
      }
      return { leave }
    } catch (error) {
      if (error instanceof StaleTokenError) return { problem: staleProblem(error) }
      if (error instanceof StoreUnreachableError) return { problem: outageProblem() }
      throw error
    }
  }

  /** A listener of node:http can reject to nobody: an error would end the process. */
  async function judgeAlways(request: R): Promise<Verdict> {
    try {
      return await judge(request)
    } catch (error) {
      diagnostics.failed('', error)
      return { problem: failureProblem() }
    }
  }

  /** True: the handler may begin. Its turn ends with the response at the latest. */
  async function admits(request: R, response: ServerAnswer, refuse: (problem: Problem) => unknown): Promise<boolean> {
    const verdict = await judge(request)
    if ('problem' in verdict) {
      refuse(verdict.problem)
      return false
    }
    // The client may have gone while the request waited for its turn: then nothing else would ever end the turn.
    if (response.closed) verdict.leave()
    else response.once('close', verdict.leave)
    return !response.closed
  }

  return {
    node: (handler) => async (request, response) => {
      const verdict = await judgeAlways(request)
      if ('problem' in verdict) {
        answer(response, verdict.problem)
        return
      }
      if (response.closed) {
        verdict.leave()
        return
      }
      const closed = new Promise<void>((resolve) => response.once('close', resolve))
      try {
        await handler(request, response)
      } finally {
        // A handler that goes on in callbacks has returned long before it has answered.
        void closed.then(verdict.leave)
      }
    },
    express: (request, response, next) => {
      const pass = async (): Promise<void> => {
        try {
          // In a tick of its own, because an error of the handler is not ours.
          if (await admits(request, response, (problem) => answer(response, problem))) process.nextTick(next)
        } catch (error) {
          process.nextTick(next, error)
        }
      }
      void pass()
    },
    async fastify(request, reply) {
      const isAdmitted = await admits(request, reply.raw, (problem) => {
        reply.code(problem.status)
        reply.headers(problemHeaders())
        reply.send(JSON.stringify(problem))
      })
      // Fastify goes on to the handler unless the hook returns the reply.
      return isAdmitted ? undefined : reply
    },
    fetch:
      (handler) =>
      async (request, ...rest) => {
        const verdict = await judge(request)
        if ('problem' in verdict) {
          const { problem } = verdict
          return new Response(JSON.stringify(problem), { status: problem.status, headers: problemHeaders() })
        }
        try {
          return await handler(request, ...rest)
        } finally {
          verdict.leave()
        }
      },
  }
}

/** The name comes from the request, so its sender chooses its length. */
function nameOf(resource: string): string | { readonly problem: Problem } {
  try {
    return checkName('the resource of a request', resource)
  } catch (error) {
    if (error instanceof UsageError && typeof resource === 'string') return { problem: unnamedProblem(error) }
    throw error
  }
}

function readProof(request: WithHeaders): Proof | null | { readonly problem: Problem } {
  try {
    return requestProof(request)
  } catch (error) {
    if (error instanceof UsageError) return { problem: malformedProblem(error) }
    throw error
  }
}

function answer(response: ServerAnswer, problem: Problem): void {
  response.writeHead(problem.status, problemHeaders())
  response.end(JSON.stringify(problem))
}
