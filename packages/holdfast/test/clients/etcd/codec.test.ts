import { describe, expect, test } from 'vitest'
import { EtcdProtocolError } from '../../../src/clients/etcd/errors.ts'
import type { Message } from '../../../src/clients/etcd/message.ts'
import * as header from '../../../src/clients/etcd/messages/header.ts'
import * as kv from '../../../src/clients/etcd/messages/kv.ts'
import * as lease from '../../../src/clients/etcd/messages/lease.ts'
import * as server from '../../../src/clients/etcd/messages/server.ts'
import * as txn from '../../../src/clients/etcd/messages/txn.ts'
import * as watch from '../../../src/clients/etcd/messages/watch.ts'
import { oracleDecode, oracleEncode, randomMessage, seeded } from './oracle.ts'

const messages = Object.entries({ ...header, ...kv, ...lease, ...server, ...txn, ...watch }) as unknown as [
  string,
  Message<Record<string, unknown>>,
][]
const SEED = 20_260_101
const ROUNDS = 60

test('every declared message is known to the oracle', () => {
  expect(messages.length).toBe(35)
})

describe.each(messages)('%s', (name, message) => {
  test(`ours to the oracle and back, seed ${SEED}`, () => {
    const random = seeded(SEED)
    for (let round = 0; round < ROUNDS; round++) {
      const plain = randomMessage(name, random)
      expect(oracleDecode(name, message.encode(plain))).toEqual(plain)
      expect(message.decode(oracleEncode(name, plain))).toEqual(plain)
      expect(message.decode(message.encode(plain))).toEqual(plain)
    }
  })

  test('unknown fields are skipped', () => {
    const random = seeded(SEED)
    const plain = randomMessage(name, random)
    // Field 1000 four times: as a varint, fixed 64 bits, bytes, fixed 32 bits.
    const unknown = Buffer.from('c03e9601c13e0102030405060708c23e03010203c53e01020304', 'hex')
    const bytes = message.encode(plain)
    expect(message.decode(Buffer.concat([unknown, bytes, unknown]))).toEqual(plain)
  })

  test('cut anywhere: a typed error, or a message that ends between two fields', () => {
    const bytes = message.encode(randomMessage(name, seeded(SEED)))
    for (let length = 0; length < Math.min(bytes.length, 3000); length++) {
      const cut = bytes.subarray(0, length)
      let decoded: Record<string, unknown> | undefined
      try {
        decoded = message.decode(cut)
      } catch (error) {
        expect(error).toBeInstanceOf(EtcdProtocolError)
      }
      if (decoded !== undefined) expect(oracleDecode(name, cut)).toEqual(decoded)
    }
  })
})

test('a zero inside a oneof is written, elsewhere it is left out', () => {
  const compare = txn.Compare.encode({ key: Buffer.from('k'), target: 'create', createRevision: 0n })
  expect([...compare]).toEqual([0x10, 1, 0x1a, 1, 0x6b, 0x28, 0])
  expect(kv.PutRequest.encode({ key: Buffer.alloc(0), lease: 0n, prevKv: false }).length).toBe(0)
})

test('packed and unpacked numbers are both read', () => {
  expect(watch.WatchCreateRequest.decode(Buffer.from([0x2a, 2, 0, 1])).filters).toEqual(['noput', 'nodelete'])
  expect(watch.WatchCreateRequest.decode(Buffer.from([0x28, 0, 0x28, 1])).filters).toEqual(['noput', 'nodelete'])
})

test.each([
  ['a varint without end', [0x18, ...Array.from({ length: 11 }, () => 0xff)]],
  ['field number 0', [0x00, 0x00]],
  ['a group', [0x1b, 0x1c]],
  ['a wrong wire type', [0x1a, 1, 1]],
  ['a nested length past the end', [0x0a, 5, 0x18]],
  ['a length that is negative', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]],
])('%s is a typed error', (_what, bytes) => {
  expect(() => kv.RangeResponse.decode(Buffer.from(bytes))).toThrow(EtcdProtocolError)
})

test('an amount beyond 2^53 is refused, not rounded', () => {
  const bytes = Buffer.from([0x20, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f])
  expect(() => kv.RangeResponse.decode(bytes)).toThrow('not a safe integer')
})

test('a word that is no choice is told before anything is sent', () => {
  const request = { key: Buffer.from('k'), sortOrder: 'up' } as unknown as kv.RangeRequest
  expect(() => kv.RangeRequest.encode(request)).toThrow("'up' is not one of none, ascend, descend")
})
