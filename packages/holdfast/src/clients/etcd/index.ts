/** The etcd client on its own: re-exports only. */
export { EtcdClient } from './client.ts'
export {
  EtcdCompactedError,
  EtcdError,
  EtcdProtocolError,
  EtcdUnreachableError,
  EtcdWatchCancelledError,
} from './errors.ts'
export type { KeepAlive, KeepAliveObserver, KeepAliveReply } from './keep-alive.ts'
export type { Leases } from './leases.ts'
export type { KeyValue, ResponseHeader } from './messages/header.ts'
export type {
  DeleteRangeRequest,
  DeleteRangeResponse,
  PutRequest,
  PutResponse,
  RangeRequest,
  RangeResponse,
} from './messages/kv.ts'
export type {
  LeaseGrantRequest,
  LeaseGrantResponse,
  LeaseRevokeResponse,
  LeaseTimeToLiveRequest,
  LeaseTimeToLiveResponse,
} from './messages/lease.ts'
export type { StatusResponse } from './messages/server.ts'
export type { Compare, RequestOp, ResponseOp, TxnRequest, TxnResponse } from './messages/txn.ts'
export type { WatchEvent } from './messages/watch.ts'
export type { EtcdClientOptions, EtcdTls } from './options.ts'
export type { CallOptions } from './rpc.ts'
export type { WatchObserver, WatchOptions, Watcher } from './watcher.ts'
