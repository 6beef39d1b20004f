/** What can go wrong between this client and etcd. Every class tells whether the request may have been applied. */
import { StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import { statusName } from './status.ts'

interface Outcome {
  readonly cause?: unknown
  /** False only if the request provably changed nothing: never sent, or refused before etcd looked at it. */
  readonly mayHaveApplied: boolean
}

interface Answer extends Outcome {
  /** The gRPC status number, 0 to 16. */
  readonly status: number
}

/** etcd answered with an error that another endpoint would give, too. */
export class EtcdError extends StoreError {
  /** The gRPC status number. */
  readonly status: number
  /** The gRPC status name, for example `PERMISSION_DENIED`. */
  readonly statusName: string
  readonly mayHaveApplied: boolean

  constructor(message: string, detail: Answer) {
    super(message, detail)
    this.status = detail.status
    this.statusName = statusName(detail.status)
    this.mayHaveApplied = detail.mayHaveApplied
  }
}

/** No answer: not connected, connection lost, deadline passed, or a member that said UNAVAILABLE. */
export class EtcdUnreachableError extends StoreUnreachableError {
  /** The gRPC status number if a member answered at all; 14 (UNAVAILABLE) or 4 (DEADLINE_EXCEEDED) otherwise. */
  readonly status: number
  readonly statusName: string
  readonly mayHaveApplied: boolean

  constructor(message: string, detail: Answer) {
    super(message, detail)
    this.status = detail.status
    this.statusName = statusName(detail.status)
    this.mayHaveApplied = detail.mayHaveApplied
  }
}

/** Bytes that are not what etcd v3 sends: another kind of server, or a damaged stream. */
export class EtcdProtocolError extends StoreError {
  readonly mayHaveApplied: boolean

  constructor(message: string, detail: Outcome = { mayHaveApplied: true }) {
    super(message, detail)
    this.mayHaveApplied = detail.mayHaveApplied
  }
}

/** The watcher asked for history that etcd has thrown away. Read the keys again and watch from that revision + 1. */
export class EtcdCompactedError extends StoreError {
  /** The oldest revision that can still be watched. */
  readonly compactRevision: bigint

  constructor(compactRevision: bigint) {
    super(`etcd watch: history before revision ${compactRevision} was compacted; read again and watch from there`)
    this.compactRevision = compactRevision
  }
}

/** etcd ended the watcher, or refused to create it; `reason` is the server's own text. */
export class EtcdWatchCancelledError extends StoreError {
  readonly reason: string

  constructor(reason: string, cause?: unknown) {
    super(`etcd watch: cancelled by the server: ${reason || 'no reason given'}`, { cause })
    this.reason = reason
  }
}
