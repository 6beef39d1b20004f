/** Bytes of a ZooKeeper server: frames cut anywhere, and every kind of answer read from each. */
import { isDeepStrictEqual } from 'node:util'
import { Chroot } from '../../../holdfast/src/clients/zookeeper/chroot.ts'
import { FrameReader } from '../../../holdfast/src/clients/zookeeper/frames.ts'
import { readGrant } from '../../../holdfast/src/clients/zookeeper/handshake.ts'
import { JuteReader, JuteWriter } from '../../../holdfast/src/clients/zookeeper/jute.ts'
import { multi } from '../../../holdfast/src/clients/zookeeper/multi.ts'
import { create2, exists, getChildren, getData, sync } from '../../../holdfast/src/clients/zookeeper/requests.ts'
import { unescapeName } from '../../../holdfast/src/stores/zookeeper/names.ts'
import { decodeNode } from '../../../holdfast/src/stores/zookeeper/node-data.ts'
import { attempt, Fault, pieces, type Target } from '../target.ts'

const root = new Chroot('/app')
const ANSWERS = [
  exists(root, '/a').decode,
  getData(root, '/a').decode,
  getChildren(root, '/a').decode,
  sync(root, '/a').decode,
  create2(root, '/a', Buffer.alloc(0), {}).decode,
  multi(root, [
    { op: 'check', path: '/a' },
    { op: 'delete', path: '/b' },
  ]).decode,
]

function framesOf(chunks: Iterable<Buffer>): { readonly frames: Buffer[]; readonly whole: boolean } {
  const frames: Buffer[] = []
  const reader = new FrameReader(65_536)
  const whole = attempt(() => {
    for (const chunk of chunks) reader.push(chunk, (frame) => frames.push(Buffer.from(frame)) < 1_000)
    return true
  })
  return { frames, whole: whole === true }
}

function frame(write: (writer: JuteWriter) => JuteWriter): Buffer {
  return Buffer.concat([Buffer.from([3]), write(new JuteWriter()).take()])
}

export const jute: Target = {
  name: 'jute',
  says: 'answers of ZooKeeper',
  seeds: [
    frame((out) => out.int(0).int(4_000).long(7n).buffer(Buffer.alloc(16)).bool(false)),
    frame((out) => out.int(1).long(2n).int(0).buffer(Buffer.from('30000\n{}')).long(1n).long(1n).long(1n).long(1n)),
    frame((out) => out.ustrings(['id-0000000001', 'id-0000000002'])),
    frame((out) => out.int(13).bool(false).int(0).int(-1).bool(true).int(-1)),
    frame((out) => out.int(-1).long(-1n).int(0).int(4).int(3).ustring('/app/holdfast')),
  ],
  words: [
    '\xff\xff\xff\xff',
    '\x00\x00\x00\x00',
    '\x7f\xff\xff\xff',
    '\x00\x00\x00\x0e',
    '\x80\x00\x00\x00',
    '%2E',
    '/',
  ],
  run(input) {
    const [first = 0] = input
    const bytes = input.subarray(1)
    const one = framesOf([bytes])
    const cut = framesOf(pieces(bytes, (first % 16) + 1))
    if (one.whole !== cut.whole || !isDeepStrictEqual(one.frames, cut.frames)) {
      throw new Fault('the frames depend on where the bytes are cut')
    }
    for (const each of [bytes, ...one.frames]) {
      for (const decode of ANSWERS) attempt(() => void decode(new JuteReader(each)))
      attempt(() => readGrant(each))
      decodeNode(each)
      unescapeName(each.toString())
    }
  },
}
