/** What every etcd reply and every stored key carries. */
import { bytes, int64, uint64 } from '../field.ts'
import { Message } from '../message.ts'

/** Which member answered, and at which revision of the store. */
export interface ResponseHeader {
  readonly clusterId: bigint
  readonly memberId: bigint
  readonly revision: bigint
  readonly raftTerm: bigint
}

export const ResponseHeader: Message<ResponseHeader> = new Message({
  clusterId: uint64(1),
  memberId: uint64(2),
  revision: int64(3),
  raftTerm: uint64(4),
})

/** A key with its value, its revisions, and its lease (0n: none). */
export interface KeyValue {
  readonly key: Uint8Array
  readonly createRevision: bigint
  readonly modRevision: bigint
  readonly version: bigint
  readonly value: Uint8Array
  readonly lease: bigint
}

export const KeyValue: Message<KeyValue> = new Message({
  key: bytes(1),
  createRevision: int64(2),
  modRevision: int64(3),
  version: int64(4),
  value: bytes(5),
  lease: int64(6),
})
