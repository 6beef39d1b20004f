/** A member that wants our stack or our memory: refused with a typed error, before either is gone. */
import { expect, test } from 'vitest'
import { EtcdProtocolError } from '../../../src/clients/etcd/errors.ts'
import { RangeResponse } from '../../../src/clients/etcd/messages/kv.ts'
import { TxnResponse } from '../../../src/clients/etcd/messages/txn.ts'

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]
}

/** A transaction in a transaction, so many times. */
function transactions(depth: number): Buffer {
  let bytes = Buffer.alloc(0)
  for (let i = 0; i < depth; i++) {
    bytes = Buffer.concat([Buffer.from([0x22, ...varint(bytes.length)]), bytes])
    bytes = Buffer.concat([Buffer.from([0x1a, ...varint(bytes.length)]), bytes])
  }
  return bytes
}

test('transactions in each other: 50 are read, 10 000 are refused and cost no stack', () => {
  expect(TxnResponse.decode(transactions(50)).responses).toHaveLength(1)
  expect(() => TxnResponse.decode(transactions(51))).toThrow(EtcdProtocolError)
  expect(() => TxnResponse.decode(transactions(10_000))).toThrow(EtcdProtocolError)
})

test('empty messages: a million are read, more are refused', () => {
  const keys = (count: number): Buffer => Buffer.alloc(count * 2, Buffer.from([0x12, 0]))
  expect(RangeResponse.decode(keys(1_000_000)).kvs).toHaveLength(1_000_000)
  expect(() => RangeResponse.decode(keys(1_000_001))).toThrow(EtcdProtocolError)
})
