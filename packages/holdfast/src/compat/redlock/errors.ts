/** The errors of redlock 5. */
import type { RedisClient } from '../../stores/redis/transport-to.ts'

/** The outcome of one attempt: one vote for each client. */
export interface ExecutionStats {
  /** How many servers there are. */
  readonly membershipSize: number
  /** How many must agree. */
  readonly quorumSize: number
  /** Clients that agreed. */
  readonly votesFor: Set<RedisClient>
  /** Clients that did not agree, and why. */
  readonly votesAgainst: Map<RedisClient, Error>
}

/** The result of a release. */
export interface ExecutionResult {
  /** How each try went. */
  readonly attempts: readonly Promise<ExecutionStats>[]
}

/** Somebody else holds one of the resources, or a release came too late. The 'error' event carries this error. */
export class ResourceLockedError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ResourceLockedError'
  }
}

/** An operation failed as a whole. `cause` is Holdfast's own error, which tells contention, outage and loss apart. */
export class ExecutionError extends Error {
  /** How each try went. */
  readonly attempts: readonly Promise<ExecutionStats>[]

  constructor(message: string, attempts: readonly Promise<ExecutionStats>[], options?: ErrorOptions) {
    super(message, options)
    this.name = 'ExecutionError'
    this.attempts = attempts
  }
}

/** The outcome as an attempt in which all clients voted alike, because the store decides as one. */
export function attemptOf(clients: ReadonlySet<RedisClient>, error: Error | null): Promise<ExecutionStats> {
  return Promise.resolve({
    membershipSize: clients.size,
    quorumSize: Math.floor(clients.size / 2) + 1,
    votesFor: new Set(error === null ? clients : []),
    votesAgainst: new Map(error === null ? [] : [...clients].map((client) => [client, error])),
  })
}
