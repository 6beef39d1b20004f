/** The parser gives the same replies however the bytes are cut, and refuses what is no RESP or too much of it. */
import { describe, expect, test } from 'vitest'
import { ProtocolError, ReplyError } from '../../../src/clients/redis/errors.ts'
import { Parser } from '../../../src/clients/redis/parser.ts'
import type { Reply } from '../../../src/clients/redis/reply.ts'

const MB = 1024 * 1024

function reader(buffers = false): { parser: Parser; replies: Reply[]; pushes: Reply[][] } {
  const replies: Reply[] = []
  const pushes: Reply[][] = []
  const parser = new Parser(
    { wantsBuffers: () => buffers, onReply: (reply) => replies.push(reply), onPush: (items) => pushes.push(items) },
    { maxReplyBytes: 64 * MB, maxDepth: 64 },
  )
  return { parser, replies, pushes }
}

/** Errors compare by their text. */
function plain(reply: Reply): unknown {
  if (reply instanceof ReplyError) return { error: reply.reply, kind: reply.kind }
  if (Array.isArray(reply)) return reply.map(plain)
  return reply
}

const frames: readonly [name: string, bytes: string, value: unknown][] = [
  ['OK', '+OK\r\n', 'OK'],
  ['a simple string', '+PONG é\r\n', 'PONG é'],
  ['an empty simple string', '+\r\n', ''],
  ['an error', '-WRONGTYPE Operation\r\n', { error: 'WRONGTYPE Operation', kind: 'WRONGTYPE' }],
  ['an error without kind', '-something odd\r\n', { error: 'something odd', kind: 'ERR' }],
  ['an integer', ':1234\r\n', 1234],
  ['a negative integer', ':-7\r\n', -7],
  ['minus zero', ':-0\r\n', 0],
  ['2^53 - 1', ':9007199254740991\r\n', 9007199254740991],
  ['2^53 + 1', ':9007199254740993\r\n', 9007199254740993n],
  ['the lowest int64', ':-9223372036854775808\r\n', -9223372036854775808n],
  ['a blob', '$5\r\nhel\r\n\r\n', 'hel\r\n'],
  ['a blob of UTF-8', '$6\r\né…x\r\n', 'é…x'],
  ['an empty blob', '$0\r\n\r\n', ''],
  ['a null of RESP2', '$-1\r\n', null],
  ['a null array of RESP2', '*-1\r\n', null],
  ['a null of RESP3', '_\r\n', null],
  ['true', '#t\r\n', true],
  ['false', '#f\r\n', false],
  ['a double', ',-1.5e3\r\n', -1500],
  ['infinity', ',inf\r\n', Number.POSITIVE_INFINITY],
  ['minus infinity', ',-inf\r\n', Number.NEGATIVE_INFINITY],
  ['not a number', ',nan\r\n', Number.NaN],
  ['a big number', '(-3492890328409238509324850943850943825024385\r\n', -3492890328409238509324850943850943825024385n],
  ['a blob error', '!21\r\nSYNTAX invalid syntax\r\n', { error: 'SYNTAX invalid syntax', kind: 'SYNTAX' }],
  ['verbatim text', '=15\r\ntxt:Some string\r\n', 'Some string'],
  ['an empty array', '*0\r\n', []],
  ['an array', '*4\r\n:1\r\n$1\r\na\r\n*1\r\n-ERR x\r\n_\r\n', [1, 'a', [{ error: 'ERR x', kind: 'ERR' }], null]],
  [
    'a map',
    '%2\r\n+a\r\n:1\r\n$1\r\nb\r\n*1\r\n#t\r\n',
    new Map<unknown, unknown>([
      ['a', 1],
      ['b', [true]],
    ]),
  ],
  ['an empty map', '%0\r\n', new Map()],
  ['a set', '~2\r\n+a\r\n:2\r\n', new Set<unknown>(['a', 2])],
  ['an attribute before a reply', '|1\r\n+ttl\r\n:3600\r\n*1\r\n:5\r\n', [5]],
  ['an attribute inside an array', '*2\r\n:1\r\n|1\r\n+ttl\r\n*1\r\n:9\r\n:2\r\n', [1, 2]],
]

describe('frames', () => {
  test.each(frames)('%s, whole and cut at every byte', (_, text, value) => {
    const bytes = Buffer.from(text)
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { parser, replies } = reader()
      parser.feed(Buffer.from(bytes.subarray(0, cut)))
      parser.feed(Buffer.from(bytes.subarray(cut)))
      expect(replies.map(plain), `cut at ${cut}`).toEqual([value])
    }
  })

  test('all of them in a row, byte by byte, in one buffer that is used again', () => {
    const { parser, replies } = reader()
    const reused = Buffer.alloc(1)
    for (const byte of Buffer.from(frames.map(([, text]) => text).join(''))) {
      reused[0] = byte
      parser.feed(reused)
    }
    expect(replies.map(plain)).toEqual(frames.map(([, , value]) => value))
  })

  test('all of them in a row, in chunks of 2 to 40 bytes', () => {
    const bytes = Buffer.from(frames.map(([, text]) => text).join(''))
    for (let size = 2; size <= 40; size++) {
      const { parser, replies } = reader()
      for (let at = 0; at < bytes.length; at += size) parser.feed(Buffer.from(bytes.subarray(at, at + size)))
      expect(replies.map(plain)).toEqual(frames.map(([, , value]) => value))
    }
  })

  test('push messages go their own way, between replies', () => {
    const bytes = Buffer.from('+a\r\n>3\r\n+message\r\n$1\r\nc\r\n$2\r\nhi\r\n+b\r\n')
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { parser, replies, pushes } = reader()
      parser.feed(bytes.subarray(0, cut))
      parser.feed(bytes.subarray(cut))
      expect(replies).toEqual(['a', 'b'])
      expect(pushes).toEqual([['message', 'c', 'hi']])
    }
  })
})

describe('buffers', () => {
  test('blobs come as Buffers that survive the reuse of the chunk', () => {
    const bytes = Buffer.from([...Buffer.from('*2\r\n$3\r\n'), 0x00, 0xff, 0x0d, ...Buffer.from('\r\n$1\r\nx\r\n')])
    for (let cut = 0; cut <= bytes.length; cut++) {
      const { parser, replies } = reader(true)
      for (const part of [bytes.subarray(0, cut), bytes.subarray(cut)]) {
        const chunk = Buffer.from(part)
        parser.feed(chunk)
        chunk.fill(0x2a)
      }
      expect(replies).toEqual([[Buffer.from([0x00, 0xff, 0x0d]), Buffer.from('x')]])
    }
  })

  test('a push is read as text even if the next reply is wanted as Buffers', () => {
    const { parser, pushes } = reader(true)
    parser.feed(Buffer.from('>2\r\n$1\r\na\r\n$1\r\nb\r\n'))
    expect(pushes).toEqual([['a', 'b']])
  })
})

describe('refused', () => {
  test.each([
    ['another protocol', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a TLS alert', '\x15\x03\x01\x00\x02\x02\x0a\n'],
    ['an empty line', '\r\n'],
    ['a bare line feed', '\n'],
    ['a line without CR', '+OK\n'],
    ['an integer with letters', ':12a\r\n'],
    ['an empty integer', ':\r\n'],
    ['a sign alone', ':-\r\n'],
    ['a long integer with letters', ':1234567890123456789x\r\n'],
    ['a length with letters', '$1x\r\n'],
    ['a length of -2', '$-2\r\n'],
    ['an empty length', '*\r\n'],
    ['a length of 20 digits', '$10000000000000000000\r\n'],
    ['a blob that is longer than it says', '$1\r\nab\r\n'],
    ['a null set', '~-1\r\n'],
    ['a streamed blob', '$?\r\n'],
    ['a boolean that is neither', '#x\r\n'],
    ['a double of words', ',abc\r\n'],
    ['a double of nothing', ',\r\n'],
    ['an empty big number', '(\r\n'],
    ['verbatim text without format', '=2\r\nab\r\n'],
    ['a push inside an array', '*2\r\n>1\r\n+a\r\n'],
  ])('%s', (_, text) => {
    expect(() => reader().parser.feed(Buffer.from(text, 'latin1'))).toThrow(ProtocolError)
    // Cut anywhere, it is refused too, and nothing is delivered before.
    const { parser, replies } = reader()
    expect(() => {
      for (const byte of Buffer.from(text, 'latin1')) parser.feed(Buffer.from([byte]))
    }).toThrow(ProtocolError)
    expect(replies).toEqual([])
  })

  test.each([
    ['a blob', `$${64 * MB}\r\n`],
    ['a blob of the largest number', '$999999999999999\r\n'],
    ['verbatim text', `=${65 * MB}\r\n`],
    ['an error', `!${65 * MB}\r\n`],
    ['an array', '*30000000\r\n'],
    ['a map', '%12000000\r\n'],
    ['a push', '>999999999999999\r\n'],
    ['blobs that are too large together', `*3\r\n$9\r\n123456789\r\n$${64 * MB - 20}\r\n`],
  ])('a claim of more than 64 MB: %s', (_, text) => {
    expect(() => reader().parser.feed(Buffer.from(text))).toThrow(/larger than 67108864 bytes/)
  })

  test('a reply that passes 64 MB in small pieces', () => {
    const { parser } = reader()
    parser.feed(Buffer.from('*100\r\n'))
    const piece = Buffer.concat([Buffer.from(`$${MB}\r\n`), Buffer.alloc(MB, 0x61), Buffer.from('\r\n')])
    expect(() => {
      for (let index = 0; index < 64; index++) parser.feed(piece)
    }).toThrow(/larger than/)
  })

  test('a reply just below the limit is read, and the limit is per reply', () => {
    const { parser, replies } = reader()
    const size = 64 * MB - 32
    for (let round = 0; round < 2; round++) {
      parser.feed(Buffer.from(`$${size}\r\n`))
      const chunk = Buffer.alloc(MB, 0x61)
      for (let left = size; left > 0; left -= MB) parser.feed(chunk.subarray(0, Math.min(left, MB)))
      parser.feed(Buffer.from('\r\n'))
    }
    expect(replies.map((reply) => (reply as string).length)).toEqual([size, size])
  })

  test('a line without end', () => {
    const { parser } = reader()
    expect(() => {
      for (let index = 0; index < 100; index++) parser.feed(Buffer.alloc(1024, 0x2b))
    }).toThrow(/line of more than 65536 bytes/)
  })

  test.each(['*', '%', '~', '|'])('a depth bomb of %s', (type) => {
    const level = type === '%' || type === '|' ? `${type}1\r\n+k\r\n` : `${type}1\r\n`
    expect(() => reader().parser.feed(Buffer.from(level.repeat(65)))).toThrow(/nested more than 64 deep/)
    const { parser, replies } = reader()
    parser.feed(Buffer.from(`${'*1\r\n'.repeat(64)}:1\r\n`))
    expect(replies).toHaveLength(1)
  })
})
