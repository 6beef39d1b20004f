/** gRPC's framing: one byte of flags, four of length, then the message. Chunks may split it anywhere. */
import { EtcdProtocolError } from './errors.ts'
import type { Message } from './message.ts'
import { Writer } from './wire.ts'

const HEAD = 5
const LENGTH_MAX = 64 * 1024 * 1024
// Shared, because encoding is synchronous; cleared first, because a wrong value throws half-way.
const writer = new Writer()

/** The message with its frame head, ready to send. */
export function frame<T extends object>(message: Message<T>, value: T): Buffer {
  writer.clear()
  message.write(writer, value)
  const length = writer.length
  for (let shift = 0; shift < 32; shift += 8) writer.byte((length >>> shift) & 0xff)
  writer.byte(0)
  return writer.finish()
}

/** Collects chunks and hands out whole messages. */
export class FrameReader {
  #chunks: Buffer[] = []
  #have = 0
  #need = HEAD

  /** Bytes of a message that hasn't ended yet. */
  get pending(): number {
    return this.#have
  }

  push(chunk: Buffer, onMessage: (message: Buffer) => void): void {
    this.#chunks.push(chunk)
    this.#have += chunk.length
    if (this.#have < this.#need) return
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#have)
    const messages: Buffer[] = []
    this.#need = HEAD
    while (bytes.length >= HEAD) {
      const size = HEAD + this.#lengthOf(bytes)
      if (bytes.length < size) {
        this.#need = size
        break
      }
      messages.push(bytes.subarray(HEAD, size))
      bytes = bytes.subarray(size)
    }
    // State first, callbacks after: a callback may end the call, or throw.
    this.#chunks = bytes.length === 0 ? [] : [bytes]
    this.#have = bytes.length
    for (const message of messages) onMessage(message)
  }

  #lengthOf(bytes: Buffer): number {
    if (bytes[0] !== 0)
      throw new EtcdProtocolError(`etcd reply: frame flags ${bytes[0]}, compression was not asked for`)
    const length = bytes.readUInt32BE(1)
    if (length > LENGTH_MAX)
      throw new EtcdProtocolError(`etcd reply: a message of ${length} bytes, at most ${LENGTH_MAX}`)
    return length
  }
}
