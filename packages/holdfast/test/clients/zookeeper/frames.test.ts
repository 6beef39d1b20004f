/** Framing: however the bytes arrive, the same frames come out. */
import { expect, test } from 'vitest'
import { FrameReader } from '../../../src/clients/zookeeper/frames.ts'
import { MalformedReplyError } from '../../../src/clients/zookeeper/jute.ts'

function framed(...bodies: string[]): Buffer {
  return Buffer.concat(
    bodies.map((body) => {
      const header = Buffer.alloc(4)
      header.writeInt32BE(body.length)
      return Buffer.concat([header, Buffer.from(body)])
    }),
  )
}

function collect(reader: FrameReader, chunks: readonly Buffer[]): string[] {
  const frames: string[] = []
  for (const chunk of chunks) {
    reader.push(chunk, (frame) => {
      frames.push(frame.toString())
      return true
    })
  }
  return frames
}

const bodies = ['a', 'four', 'a longer frame', 'xy']
const stream = framed(...bodies)

test('a stream split at every pair of bytes gives the same frames', () => {
  for (let i = 0; i <= stream.length; i++) {
    for (let j = i; j <= stream.length; j++) {
      const chunks = [stream.subarray(0, i), stream.subarray(i, j), stream.subarray(j)]
      expect(collect(new FrameReader(100), chunks)).toEqual(bodies)
    }
  }
})

test('a stream of single bytes gives the same frames', () => {
  const bytes = Array.from(stream, (byte) => Buffer.of(byte))
  expect(collect(new FrameReader(100), bytes)).toEqual(bodies)
})

test.each([0, -1, 101, 2 ** 31 - 1])(
  'a frame of %i bytes is refused, whether its header came whole or in parts',
  (length) => {
    const header = Buffer.alloc(4)
    header.writeInt32BE(length)
    expect(() => collect(new FrameReader(100), [header])).toThrow(MalformedReplyError)
    const parts = [header.subarray(0, 1), header.subarray(1)]
    expect(() => collect(new FrameReader(100), parts)).toThrow(MalformedReplyError)
  },
)

test('a receiver that has had enough gets no further frame of the chunk', () => {
  const frames: string[] = []
  new FrameReader(100).push(stream, (frame) => frames.push(frame.toString()) < 2)
  expect(frames).toEqual(bodies.slice(0, 2))
})
