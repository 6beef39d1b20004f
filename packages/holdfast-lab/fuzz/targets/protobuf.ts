/** Bytes of an etcd member: gRPC frames cut anywhere, and every message read from each. */
import { isDeepStrictEqual } from 'node:util'
import { FrameReader } from '../../../holdfast/src/clients/etcd/frame.ts'
import type { Message } from '../../../holdfast/src/clients/etcd/message.ts'
import * as kv from '../../../holdfast/src/clients/etcd/messages/kv.ts'
import * as lease from '../../../holdfast/src/clients/etcd/messages/lease.ts'
import * as server from '../../../holdfast/src/clients/etcd/messages/server.ts'
import * as txn from '../../../holdfast/src/clients/etcd/messages/txn.ts'
import * as watch from '../../../holdfast/src/clients/etcd/messages/watch.ts'
import { decodeStatusMessage } from '../../../holdfast/src/clients/etcd/status.ts'
import { LineLayout } from '../../../holdfast/src/stores/etcd/keys.ts'
import { readPlaceValue } from '../../../holdfast/src/stores/etcd/place-value.ts'
import { attempt, Fault, pieces, type Target } from '../target.ts'

const MESSAGES = [kv, lease, server, txn, watch]
  .flatMap((module) => Object.values(module) as unknown[])
  .filter((value): value is Message<object> => typeof (value as Message<object> | null)?.decode === 'function')
const layout = new LineLayout('holdfast')

function framesOf(chunks: Iterable<Buffer>): { readonly frames: Buffer[]; readonly whole: boolean } {
  const frames: Buffer[] = []
  const reader = new FrameReader()
  const whole = attempt(() => {
    for (const chunk of chunks) reader.push(chunk, (message) => void frames.push(Buffer.from(message)))
    return true
  })
  return { frames, whole: whole === true }
}

/** What is read, written and read again must be the same. */
function readTwice(message: Message<object>, bytes: Buffer): void {
  const value = attempt(() => message.decode(bytes))
  if (value === undefined) return
  const again = message.decode(message.encode(value))
  if (!isDeepStrictEqual(again, value)) throw new Fault('a message changes when it is written and read again')
}

function framed(...fields: readonly number[]): Buffer {
  return Buffer.from([5, 0, 0, 0, 0, fields.length, ...fields])
}

export const protobuf: Target = {
  name: 'protobuf',
  says: 'messages of etcd',
  seeds: [
    framed(0x0a, 0x04, 0x08, 1, 0x18, 5, 0x10, 1, 0x1a, 0x06, 0x0a, 0x04, 0x12, 0x02, 0x0a, 0),
    framed(0x12, 0x08, 0x0a, 1, 97, 0x10, 3, 0x2a, 1, 98, 0x18, 1),
    framed(0x08, 7, 0x18, 1, 0x5a, 0x05, 0x12, 0x03, 0x0a, 1, 97),
    Buffer.from('\x05{"id":"ab12","ttlMs":1000,"at":5,"data":{"label":"x"}}'),
    Buffer.from('\x05holdfast/line/stock%2F42/1/1/ab12'),
  ],
  words: [
    '\x0a\x00',
    '\x12\x00',
    '\x1a\x02\x22\x00',
    '\x80',
    '\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01',
    '\x22',
    '%00',
    '/',
  ],
  run(input) {
    const [first = 0] = input
    const bytes = input.subarray(1)
    const one = framesOf([bytes])
    const cut = framesOf(pieces(bytes, (first % 16) + 1))
    // A wrong frame behind right ones in the same chunk ends the call before they are handed out: none is better.
    if (one.whole && cut.whole && !isDeepStrictEqual(one.frames, cut.frames)) {
      throw new Fault('the messages depend on where the bytes are cut')
    }
    for (const each of [bytes, ...one.frames]) for (const message of MESSAGES) readTwice(message, each)
    decodeStatusMessage(bytes.toString('latin1'))
    readPlaceValue(bytes)
    const place = layout.read(bytes)
    if (place !== null) attempt(() => layout.weight(bytes.toString()))
  },
}
