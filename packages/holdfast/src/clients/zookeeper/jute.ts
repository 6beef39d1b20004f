/** Jute, ZooKeeper's serialization: big-endian integers, length-prefixed strings, buffers and vectors. */
import { StoreError } from '../../contract/errors.ts'

/** A peer sent bytes that are not the protocol. The link that carried them can't be trusted any further. */
export class MalformedReplyError extends StoreError {}

/** Writes one record after another into a buffer that grows; `take` copies out what was written and starts anew. */
export class JuteWriter {
  #bytes: Buffer = Buffer.allocUnsafe(4_096)
  #at = 0

  int(value: number): this {
    this.#reserve(4)
    this.#at = this.#bytes.writeInt32BE(value, this.#at)
    return this
  }

  long(value: bigint): this {
    this.#reserve(8)
    this.#at = this.#bytes.writeBigInt64BE(value, this.#at)
    return this
  }

  bool(value: boolean): this {
    this.#reserve(1)
    this.#bytes[this.#at++] = value ? 1 : 0
    return this
  }

  buffer(value: Uint8Array): this {
    this.#reserve(4 + value.length)
    this.#at = this.#bytes.writeInt32BE(value.length, this.#at)
    this.#bytes.set(value, this.#at)
    this.#at += value.length
    return this
  }

  ustring(value: string): this {
    // UTF-8 needs at most three bytes for one UTF-16 unit, so the room is known before the length is.
    this.#reserve(4 + value.length * 3)
    const length = this.#bytes.write(value, this.#at + 4)
    this.#bytes.writeInt32BE(length, this.#at)
    this.#at += 4 + length
    return this
  }

  ustrings(values: readonly string[]): this {
    this.int(values.length)
    for (const value of values) this.ustring(value)
    return this
  }

  /** The bytes written since the last take, led by their length as the wire wants it. */
  take(): Buffer {
    const frame = Buffer.allocUnsafe(4 + this.#at)
    frame.writeInt32BE(this.#at, 0)
    this.#bytes.copy(frame, 4, 0, this.#at)
    this.#at = 0
    return frame
  }

  /** Forgets what an encoder that threw half-way has left. */
  reset(): this {
    this.#at = 0
    return this
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#at + more))
    this.#bytes.copy(larger, 0, 0, this.#at)
    this.#bytes = larger
  }
}

const LENGTH_BYTES = 4
// The lengths between the names are in it, too: a length of 128 bytes or more does not look like ASCII, and costs a
// little.
// oxlint-disable-next-line no-control-regex
const ASCII = /^[\u0000-\u007f]*$/

/** Reads one frame; every read past its end is a MalformedReplyError, never a short value. */
export class JuteReader {
  #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get left(): number {
    return this.#bytes.length - this.#at
  }

  int(): number {
    return this.#bytes.readInt32BE(this.#advance(4))
  }

  long(): bigint {
    return this.#bytes.readBigInt64BE(this.#advance(8))
  }

  bool(): boolean {
    return this.#bytes[this.#advance(1)] !== 0
  }

  /** A copy, so that a small value does not keep a whole socket chunk alive. A null buffer reads as an empty one. */
  buffer(): Buffer {
    const length = this.#length()
    const start = this.#advance(length)
    return Buffer.from(this.#bytes.subarray(start, start + length))
  }

  ustring(): string {
    const length = this.#length()
    const start = this.#advance(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  /** Names are mostly ASCII: then one decoding for all, and a cut for each, are cheaper than two calls for each. */
  ustrings(): string[] {
    const count = this.#length()
    const start = this.#at
    const ends: number[] = []
    for (let i = 0; i < count; i++) {
      this.#advance(this.#length())
      ends.push(this.#at)
    }
    const text = this.#bytes.toString('latin1', start, this.#at)
    const isAscii = ASCII.test(text)
    let from = start + LENGTH_BYTES
    return ends.map((end) => {
      const value = isAscii ? text.slice(from - start, end - start) : this.#bytes.toString('utf8', from, end)
      from = end + LENGTH_BYTES
      return value
    })
  }

  #length(): number {
    const length = this.int()
    if (length < -1) throw new MalformedReplyError(`a ZooKeeper reply holds a length of ${length}`)
    return length === -1 ? 0 : length
  }

  #advance(count: number): number {
    const start = this.#at
    if (start + count > this.#bytes.length) {
      throw new MalformedReplyError(`a ZooKeeper reply of ${this.#bytes.length} bytes ends inside a value`)
    }
    this.#at = start + count
    return start
  }
}
