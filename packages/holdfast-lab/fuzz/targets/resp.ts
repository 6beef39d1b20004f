/** Bytes of a Redis server, whole and cut anywhere: both must be read alike. */
import { isDeepStrictEqual } from 'node:util'
import { Parser } from '../../../holdfast/src/clients/redis/parser.ts'
import { attempt, Fault, pieces, type Target } from '../target.ts'

const LIMITS = { maxReplyBytes: 65_536, maxDepth: 64 }

function read(chunks: Iterable<Buffer>, buffers: boolean): { readonly replies: unknown[]; readonly whole: boolean } {
  const replies: unknown[] = []
  const parser = new Parser(
    {
      wantsBuffers: () => buffers,
      onReply: (reply) => void replies.push(reply instanceof Error ? reply.message : reply),
      onPush: (items) => void replies.push(['push', ...items]),
    },
    LIMITS,
  )
  const whole = attempt(() => {
    for (const chunk of chunks) parser.feed(Buffer.from(chunk))
    return true
  })
  return { replies, whole: whole === true }
}

export const resp: Target = {
  name: 'resp',
  says: 'replies of Redis, in RESP2 and RESP3',
  seeds: [
    '\x01+OK\r\n:42\r\n$5\r\nhello\r\n',
    '\x03*3\r\n$1\r\na\r\n:-1\r\n*-1\r\n',
    '\x02%2\r\n+a\r\n:1\r\n+b\r\n#t\r\n_\r\n',
    '\x07>3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$2\r\nhi\r\n',
    '\x05|1\r\n+k\r\n+v\r\n~2\r\n,1.5\r\n(12345678901234567890\r\n=7\r\ntxt:abc\r\n!5\r\nERR x\r\n-ERR no\r\n',
  ].map((text) => Buffer.from(text, 'latin1')),
  words: [
    '\r\n',
    '*1\r\n',
    '$-1\r\n',
    '%1\r\n',
    '|1\r\n',
    '>1\r\n',
    '~1\r\n',
    '_\r\n',
    '$0\r\n\r\n',
    ',inf\r\n',
    '(',
    '=',
  ],
  run(input) {
    const [first = 0] = input
    const bytes = input.subarray(1)
    const one = read([bytes], first > 127)
    const cut = read(pieces(bytes, (first % 16) + 1), first > 127)
    // A broken stream is found out sooner or later, but what was read of it before is the same.
    if (one.whole !== cut.whole) throw new Fault(`whole: ${one.whole}, in pieces: ${cut.whole}`)
    if (!isDeepStrictEqual(one.replies, cut.replies)) throw new Fault('the replies depend on where the bytes are cut')
  },
}
