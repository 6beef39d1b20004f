/** Reading and writing single keys and ranges of keys. */
import { bool, bytes, choice, int53, int64, repeated } from '../field.ts'
import { always, Message, nested } from '../message.ts'
import { KeyValue, ResponseHeader } from './header.ts'

/** Which keys to read, at which revision, in which order. Linearizable unless `serializable`. */
export interface RangeRequest {
  readonly key: Uint8Array
  /** First key past the range; absent: just `key`; one zero byte: everything from `key` on. */
  readonly rangeEnd?: Uint8Array
  /** At most so many keys; 0 is no limit. */
  readonly limit?: number
  readonly revision?: bigint
  readonly sortOrder?: 'none' | 'ascend' | 'descend'
  readonly sortTarget?: 'key' | 'version' | 'create' | 'mod' | 'value'
  /** Answered from the member's own, possibly old state. This must never decide who owns a lock. */
  readonly serializable?: boolean
  readonly keysOnly?: boolean
  readonly countOnly?: boolean
  readonly minModRevision?: bigint
  readonly maxModRevision?: bigint
  readonly minCreateRevision?: bigint
  readonly maxCreateRevision?: bigint
}

export const RangeRequest: Message<RangeRequest> = new Message({
  key: bytes(1),
  rangeEnd: bytes(2),
  limit: int53(3),
  revision: int64(4),
  sortOrder: choice(5, ['none', 'ascend', 'descend']),
  sortTarget: choice(6, ['key', 'version', 'create', 'mod', 'value']),
  serializable: bool(7),
  keysOnly: bool(8),
  countOnly: bool(9),
  minModRevision: int64(10),
  maxModRevision: int64(11),
  minCreateRevision: int64(12),
  maxCreateRevision: int64(13),
})

export interface RangeResponse {
  readonly header: ResponseHeader
  readonly kvs: readonly KeyValue[]
  /** There are more keys than `limit`. */
  readonly more: boolean
  /** All keys of the range, even those past `limit`. */
  readonly count: number
}

export const RangeResponse: Message<RangeResponse> = new Message({
  header: always(1, ResponseHeader),
  kvs: repeated(always(2, KeyValue)),
  more: bool(3),
  count: int53(4),
})

export interface PutRequest {
  readonly key: Uint8Array
  readonly value?: Uint8Array
  readonly lease?: bigint
  /** Answer with the pair that was replaced. */
  readonly prevKv?: boolean
  readonly ignoreValue?: boolean
  readonly ignoreLease?: boolean
}

export const PutRequest: Message<PutRequest> = new Message({
  key: bytes(1),
  value: bytes(2),
  lease: int64(3),
  prevKv: bool(4),
  ignoreValue: bool(5),
  ignoreLease: bool(6),
})

export interface PutResponse {
  readonly header: ResponseHeader
  readonly prevKv?: KeyValue | undefined
}

export const PutResponse: Message<PutResponse> = new Message({
  header: always(1, ResponseHeader),
  prevKv: nested(2, KeyValue),
})

export interface DeleteRangeRequest {
  readonly key: Uint8Array
  readonly rangeEnd?: Uint8Array
  readonly prevKv?: boolean
}

export const DeleteRangeRequest: Message<DeleteRangeRequest> = new Message({
  key: bytes(1),
  rangeEnd: bytes(2),
  prevKv: bool(3),
})

export interface DeleteRangeResponse {
  readonly header: ResponseHeader
  readonly deleted: number
  readonly prevKvs: readonly KeyValue[]
}

export const DeleteRangeResponse: Message<DeleteRangeResponse> = new Message({
  header: always(1, ResponseHeader),
  deleted: int53(2),
  prevKvs: repeated(always(3, KeyValue)),
})
