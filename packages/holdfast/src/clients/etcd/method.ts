/** The remote procedures that this client calls. */
import type { Message } from './message.ts'
import {
  DeleteRangeRequest,
  DeleteRangeResponse,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
} from './messages/kv.ts'
import {
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseKeepAliveRequest,
  LeaseKeepAliveResponse,
  LeaseRevokeRequest,
  LeaseRevokeResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
} from './messages/lease.ts'
import {
  AuthenticateRequest,
  AuthenticateResponse,
  MemberListRequest,
  MemberListResponse,
  StatusRequest,
  StatusResponse,
} from './messages/server.ts'
import { TxnRequest, TxnResponse } from './messages/txn.ts'
import { WatchRequest, WatchResponse } from './messages/watch.ts'

/** A path with its two message types. */
export interface Method<Q extends object, R extends object> {
  readonly path: string
  readonly request: Message<Q>
  readonly response: Message<R>
}

export const Range: Method<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  request: RangeRequest,
  response: RangeResponse,
}

export const Put: Method<PutRequest, PutResponse> = {
  path: '/etcdserverpb.KV/Put',
  request: PutRequest,
  response: PutResponse,
}

export const DeleteRange: Method<DeleteRangeRequest, DeleteRangeResponse> = {
  path: '/etcdserverpb.KV/DeleteRange',
  request: DeleteRangeRequest,
  response: DeleteRangeResponse,
}

export const Txn: Method<TxnRequest, TxnResponse> = {
  path: '/etcdserverpb.KV/Txn',
  request: TxnRequest,
  response: TxnResponse,
}

export const LeaseGrant: Method<LeaseGrantRequest, LeaseGrantResponse> = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  request: LeaseGrantRequest,
  response: LeaseGrantResponse,
}

export const LeaseRevoke: Method<LeaseRevokeRequest, LeaseRevokeResponse> = {
  path: '/etcdserverpb.Lease/LeaseRevoke',
  request: LeaseRevokeRequest,
  response: LeaseRevokeResponse,
}

export const LeaseTimeToLive: Method<LeaseTimeToLiveRequest, LeaseTimeToLiveResponse> = {
  path: '/etcdserverpb.Lease/LeaseTimeToLive',
  request: LeaseTimeToLiveRequest,
  response: LeaseTimeToLiveResponse,
}

export const LeaseKeepAlive: Method<LeaseKeepAliveRequest, LeaseKeepAliveResponse> = {
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  request: LeaseKeepAliveRequest,
  response: LeaseKeepAliveResponse,
}

export const Watch: Method<WatchRequest, WatchResponse> = {
  path: '/etcdserverpb.Watch/Watch',
  request: WatchRequest,
  response: WatchResponse,
}

export const Authenticate: Method<AuthenticateRequest, AuthenticateResponse> = {
  path: '/etcdserverpb.Auth/Authenticate',
  request: AuthenticateRequest,
  response: AuthenticateResponse,
}

export const MemberStatus: Method<StatusRequest, StatusResponse> = {
  path: '/etcdserverpb.Maintenance/Status',
  request: StatusRequest,
  response: StatusResponse,
}

export const MemberList: Method<MemberListRequest, MemberListResponse> = {
  path: '/etcdserverpb.Cluster/MemberList',
  request: MemberListRequest,
  response: MemberListResponse,
}
