/** Logging in, the status of a member, and the smallest request there is: are you there? */
import { bool, int53, repeated, string, uint64 } from '../field.ts'
import { always, Message } from '../message.ts'
import { ResponseHeader } from './header.ts'

export interface AuthenticateRequest {
  readonly name: string
  readonly password: string
}

export const AuthenticateRequest: Message<AuthenticateRequest> = new Message({ name: string(1), password: string(2) })

export interface AuthenticateResponse {
  readonly header: ResponseHeader
  readonly token: string
}

export const AuthenticateResponse: Message<AuthenticateResponse> = new Message({
  header: always(1, ResponseHeader),
  token: string(2),
})

export type StatusRequest = Record<string, never>

export const StatusRequest: Message<StatusRequest> = new Message({})

/** How the member that answers sees itself. */
export interface StatusResponse {
  readonly header: ResponseHeader
  readonly version: string
  readonly dbSize: number
  /** The leader's member id; 0n: none. */
  readonly leader: bigint
  readonly raftIndex: bigint
  readonly raftTerm: bigint
  readonly raftAppliedIndex: bigint
  readonly errors: readonly string[]
  readonly dbSizeInUse: number
  readonly isLearner: boolean
}

export const StatusResponse: Message<StatusResponse> = new Message({
  header: always(1, ResponseHeader),
  version: string(2),
  dbSize: int53(3),
  leader: uint64(4),
  raftIndex: uint64(5),
  raftTerm: uint64(6),
  raftAppliedIndex: uint64(7),
  errors: repeated(string(8)),
  dbSizeInUse: int53(9),
  isLearner: bool(10),
})

export type MemberListRequest = Record<string, never>

export const MemberListRequest: Message<MemberListRequest> = new Message({})

/** One member of the cluster, as it was configured. */
export interface Member {
  readonly id: bigint
  readonly name: string
}

export interface MemberListResponse {
  readonly header: ResponseHeader
  readonly members: readonly Member[]
}

export const Member: Message<Member> = new Message({ id: uint64(1), name: string(2) })

export const MemberListResponse: Message<MemberListResponse> = new Message({
  header: always(1, ResponseHeader),
  members: repeated(always(2, Member)),
})

/** gRPC's own health request; only that an answer comes matters here, not its content. */
export interface HealthCheckRequest {
  readonly service?: string
}

export const HealthCheckRequest: Message<HealthCheckRequest> = new Message({ service: string(1) })
