/** A server that wants our memory: what it sends is counted by what it costs here, not by its bytes alone. */
import { expect, test } from 'vitest'
import { Parser } from '../../../src/clients/redis/parser.ts'
import { ProtocolError } from '../../../src/clients/redis/errors.ts'

const MIB = 1024 * 1024

function feed(header: string, element: string, count: number): void {
  const parser = new Parser(
    { wantsBuffers: () => false, onReply: () => undefined, onPush: () => undefined },
    { maxReplyBytes: MIB, maxDepth: 64 },
  )
  parser.feed(Buffer.from(header))
  parser.feed(Buffer.from(element.repeat(count)))
}

test.each([
  ['arrays', '*0\r\n', 64],
  ['maps', '%0\r\n', 256],
  ['sets', '~0\r\n', 256],
  ['errors', '-E\r\n', 1_024],
  ['blob errors', '!1\r\nE\r\n', 1_024],
])('%s of a few bytes count by the memory that they take', (_, element, costs) => {
  const fitting = Math.floor(MIB / (costs + element.length)) - 1
  expect(() => feed(`*${fitting}\r\n`, element, fitting)).not.toThrow()
  // All of them would fit by their bytes.
  const many = Math.floor(MIB / element.length) - 16
  expect(() => feed(`*${many}\r\n`, element, many)).toThrow(ProtocolError)
})

test('an error that is the whole reply may be of any size', () => {
  expect(() => feed('', '-ERR no\r\n', 10_000)).not.toThrow()
})
