/** Leases: granted for whole seconds, kept alive on a stream, gone with all their keys when they lapse. */
import { bool, bytes, int53, int64, repeated, string } from '../field.ts'
import { always, Message } from '../message.ts'
import { ResponseHeader } from './header.ts'

export interface LeaseGrantRequest {
  /** Whole seconds; the server may grant more, never less. */
  readonly ttlS: number
  /** 0n or absent: the server picks one. */
  readonly id?: bigint
}

export const LeaseGrantRequest: Message<LeaseGrantRequest> = new Message({ ttlS: int53(1), id: int64(2) })

export interface LeaseGrantResponse {
  readonly header: ResponseHeader
  readonly id: bigint
  /** What was granted: this counts, not what was asked for. */
  readonly ttlS: number
  readonly error: string
}

export const LeaseGrantResponse: Message<LeaseGrantResponse> = new Message({
  header: always(1, ResponseHeader),
  id: int64(2),
  ttlS: int53(3),
  error: string(4),
})

export interface LeaseRevokeRequest {
  readonly id: bigint
}

export const LeaseRevokeRequest: Message<LeaseRevokeRequest> = new Message({ id: int64(1) })

export interface LeaseRevokeResponse {
  readonly header: ResponseHeader
}

export const LeaseRevokeResponse: Message<LeaseRevokeResponse> = new Message({ header: always(1, ResponseHeader) })

export interface LeaseKeepAliveRequest {
  readonly id: bigint
}

export const LeaseKeepAliveRequest: Message<LeaseKeepAliveRequest> = new Message({ id: int64(1) })

export interface LeaseKeepAliveResponse {
  readonly header: ResponseHeader
  readonly id: bigint
  /** 0: the lease is gone. */
  readonly ttlS: number
}

export const LeaseKeepAliveResponse: Message<LeaseKeepAliveResponse> = new Message({
  header: always(1, ResponseHeader),
  id: int64(2),
  ttlS: int53(3),
})

export interface LeaseTimeToLiveRequest {
  readonly id: bigint
  /** Also answer with the keys of the lease. */
  readonly keys?: boolean
}

export const LeaseTimeToLiveRequest: Message<LeaseTimeToLiveRequest> = new Message({ id: int64(1), keys: bool(2) })

export interface LeaseTimeToLiveResponse {
  readonly header: ResponseHeader
  readonly id: bigint
  /** Seconds left; -1: the lease is gone. */
  readonly ttlS: number
  readonly grantedTtlS: number
  readonly keys: readonly Uint8Array[]
}

export const LeaseTimeToLiveResponse: Message<LeaseTimeToLiveResponse> = new Message({
  header: always(1, ResponseHeader),
  id: int64(2),
  ttlS: int53(3),
  grantedTtlS: int53(4),
  keys: repeated(bytes(5)),
})
