/** The codec: what is written is read again, and no frame is read past its end. */
import { expect, test } from 'vitest'
import { JuteReader, JuteWriter, MalformedReplyError } from '../../../src/clients/zookeeper/jute.ts'

const body = (frame: Buffer): JuteReader => new JuteReader(frame.subarray(4))

function readAll(bytes: Buffer): void {
  const reader = new JuteReader(bytes)
  reader.int()
  reader.long()
  reader.bool()
  reader.buffer()
  reader.ustrings()
}

test('every type round-trips, longs exactly', () => {
  const longs = [0n, -1n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]
  const writer = new JuteWriter()
    .int(-7)
    .bool(true)
    .bool(false)
    .buffer(Buffer.from([0, 255]))
  for (const long of longs) writer.long(long)
  const reader = body(writer.ustring('grün ✓').ustring('').ustrings(['a', 'bc']).take())
  expect(reader.int()).toBe(-7)
  expect([reader.bool(), reader.bool()]).toEqual([true, false])
  expect([...reader.buffer()]).toEqual([0, 255])
  expect(longs.map(() => reader.long())).toEqual(longs)
  expect([reader.ustring(), reader.ustring(), reader.ustrings()]).toEqual(['grün ✓', '', ['a', 'bc']])
  expect(reader.left).toBe(0)
})

test('a frame starts with the length of what follows, and a writer starts anew after take', () => {
  const writer = new JuteWriter()
  expect([...writer.int(1).take()]).toEqual([0, 0, 0, 4, 0, 0, 0, 1])
  expect([...writer.bool(true).take()]).toEqual([0, 0, 0, 1, 1])
  expect([...writer.int(9).reset().bool(true).take()]).toEqual([0, 0, 0, 1, 1])
})

test('a writer grows past its first buffer', () => {
  const long = 'ü'.repeat(100_000)
  const reader = body(new JuteWriter().ustring(long).buffer(Buffer.alloc(300_000, 7)).take())
  expect(reader.ustring()).toBe(long)
  expect(reader.buffer().equals(Buffer.alloc(300_000, 7))).toBe(true)
})

test('null strings, buffers and vectors (length -1) read as empty', () => {
  const reader = body(new JuteWriter().int(-1).int(-1).int(-1).take())
  expect([reader.ustring(), reader.buffer().length, reader.ustrings()]).toEqual(['', 0, []])
})

test('a frame that ends anywhere inside its values is malformed, never a short value', () => {
  const whole = new JuteWriter()
    .int(1)
    .long(2n)
    .bool(true)
    .buffer(Buffer.from('abc'))
    .ustrings(['d', 'ef'])
    .take()
    .subarray(4)
  readAll(whole)
  for (let length = 0; length < whole.length; length++) {
    expect(() => readAll(whole.subarray(0, length))).toThrow(MalformedReplyError)
  }
})

test('a length below -1 is malformed', () => {
  expect(() => body(new JuteWriter().int(-2).take()).ustring()).toThrow(MalformedReplyError)
})
