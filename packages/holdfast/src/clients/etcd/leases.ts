/** Grants, revokes and looks at leases; the keep-alive stream keeps them alive. */
import type {
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseRevokeResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
} from './messages/lease.ts'
import { LeaseGrant, LeaseRevoke, LeaseTimeToLive } from './method.ts'
import type { CallOptions, Rpc } from './rpc.ts'

export class Leases {
  readonly #rpc: Rpc

  constructor(rpc: Rpc) {
    this.#rpc = rpc
  }

  /** A new lease. Sent at most once: with an `id` of your own you can find out what became of it. */
  grant(request: LeaseGrantRequest, options?: CallOptions): Promise<LeaseGrantResponse> {
    return this.#rpc.write(LeaseGrant, request, options)
  }

  /**
   * Seconds of the shortest lease that the cluster grants. This grants a lease and lets it lapse, so the request may be
   * repeated, through other members, until the deadline.
   */
  async shortest(options?: CallOptions): Promise<number> {
    return (await this.#rpc.read(LeaseGrant, { ttlS: 1 }, options)).ttlS
  }

  /** Ends the lease and removes its keys; NOT_FOUND if it is gone. Sent at most once. */
  revoke(id: bigint, options?: CallOptions): Promise<LeaseRevokeResponse> {
    return this.#rpc.write(LeaseRevoke, { id }, options)
  }

  /** Seconds left, seconds granted, and on request the keys. */
  timeToLive(request: LeaseTimeToLiveRequest, options?: CallOptions): Promise<LeaseTimeToLiveResponse> {
    return this.#rpc.read(LeaseTimeToLive, request, options)
  }
}
