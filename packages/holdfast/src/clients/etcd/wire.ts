/** Protobuf's wire format: varints, fixed widths and length-delimited bytes, written backwards and read forwards. */
import { EtcdProtocolError } from './errors.ts'

/** How the value of a field is laid out: the low three bits of its tag. */
export const WireType = { VARINT: 0, FIXED64: 1, BYTES: 2, FIXED32: 5 } as const

const TWO_32 = 0x1_0000_0000
const WORDS = new DataView(new ArrayBuffer(8))
const KEEP_MAX = 1024 * 1024
/** As deep as protobuf's own libraries read: each level costs stack. A transaction in a transaction has 5 levels. */
const DEPTH_MAX = 100
/** An empty message is 2 bytes on the wire and 100 in memory: without a limit 64 MiB of them would be 4 GB. */
const NESTED_MAX = 1_000_000

/**
 * Fills a buffer from its end towards its start. The length of a nested message stands before its content. Written
 * backwards, the length is known when it is due: one pass, no measuring.
 */
export class Writer {
  #buffer: Buffer = Buffer.allocUnsafeSlow(1024)
  #start: number = 1024

  /** Bytes written so far. */
  get length(): number {
    return this.#buffer.length - this.#start
  }

  /** Makes room for `size` more bytes; returns where they begin. */
  #reserve(size: number): number {
    if (size > this.#start) {
      const used = this.length
      const grown = Buffer.allocUnsafeSlow(Math.max(this.#buffer.length * 2, used + size))
      this.#buffer.copy(grown, grown.length - used, this.#start)
      this.#start = grown.length - used
      this.#buffer = grown
    }
    this.#start -= size
    return this.#start
  }

  byte(value: number): void {
    const at = this.#reserve(1)
    this.#buffer[at] = value
  }

  /** A safe integer; a negative one takes ten bytes, as protobuf's int32 and int64 do. */
  varint(value: number): void {
    if (value >= 0 && value < 0x80) return this.byte(value)
    if (value < 0) return this.bigVarint(BigInt(value))
    this.#varint(value % TWO_32, Math.floor(value / TWO_32))
  }

  /** A signed or unsigned 64-bit integer. */
  bigVarint(value: bigint): void {
    if (value >= 0n && value < 0x80n) return this.byte(Number(value))
    const bits = BigInt.asUintN(64, value)
    this.#varint(Number(bits & 0xffff_ffffn), Number(bits >> 32n))
  }

  #varint(low: number, high: number): void {
    let size = 1
    for (let lo = low, hi = high; hi > 0 || lo > 0x7f; size++) {
      lo = ((lo >>> 7) | (hi << 25)) >>> 0
      hi >>>= 7
    }
    let at = this.#reserve(size)
    let lo = low >>> 0
    let hi = high >>> 0
    for (; size > 1; size--) {
      this.#buffer[at++] = (lo & 0x7f) | 0x80
      lo = ((lo >>> 7) | (hi << 25)) >>> 0
      hi >>>= 7
    }
    this.#buffer[at] = lo
  }

  bytes(value: Uint8Array): void {
    // First the room, then the buffer: making room may replace the buffer.
    const at = this.#reserve(value.length)
    this.#buffer.set(value, at)
  }

  string(value: string): void {
    const at = this.#reserve(Buffer.byteLength(value))
    this.#buffer.write(value, at, 'utf8')
  }

  tag(field: number, type: number): void {
    this.varint(field * 8 + type)
  }

  /** A copy of what was written; the writer is empty again. */
  finish(): Buffer {
    const whole = Buffer.allocUnsafe(this.length)
    this.#buffer.copy(whole, 0, this.#start)
    this.clear()
    return whole
  }

  /** Forgets what was written, and the buffer of a huge message. */
  clear(): void {
    if (this.#buffer.length > KEEP_MAX) this.#buffer = Buffer.allocUnsafeSlow(1024)
    this.#start = this.#buffer.length
  }
}

/** Reads one message between two offsets; running past the end is an `EtcdProtocolError`. */
export class Reader {
  readonly #buffer: Buffer
  #at: number
  #end: number
  #low = 0
  #high = 0
  #depth = 0
  #nested = 0

  constructor(buffer: Buffer) {
    this.#buffer = buffer
    this.#at = 0
    this.#end = buffer.length
  }

  get done(): boolean {
    return this.#at >= this.#end
  }

  #take(size: number): number {
    const at = this.#at
    if (size > this.#end - at) {
      throw new EtcdProtocolError(`etcd message: truncated, ${size} bytes expected and ${this.#end - at} left`)
    }
    this.#at = at + size
    return at
  }

  #byte(): number {
    return this.#buffer[this.#take(1)] ?? 0
  }

  /** Reads the next varint into its lower and upper 32 bits, both unsigned. */
  #varint(): void {
    let low = 0
    let high = 0
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = this.#byte()
      const bits = byte & 0x7f
      if (shift < 28) low |= bits << shift
      else if (shift === 28) {
        low |= bits << 28
        high = bits >>> 4
      } else if (shift < 63) high |= bits << (shift - 32)
      else high |= (bits & 1) << 31
      if (byte < 0x80) {
        this.#low = low >>> 0
        this.#high = high >>> 0
        return
      }
    }
    throw new EtcdProtocolError('etcd message: a varint longer than 10 bytes')
  }

  /** A signed integer that must fit a double. */
  int53(): number {
    const first = this.#buffer[this.#at]
    if (first !== undefined && first < 0x80 && this.#at < this.#end) {
      this.#at++
      return first
    }
    this.#varint()
    const value = (this.#high | 0) * TWO_32 + this.#low
    if (!Number.isSafeInteger(value)) throw new EtcdProtocolError(`etcd message: ${value} is not a safe integer`)
    return value
  }

  int64(): bigint {
    return this.#words().getBigInt64(0)
  }

  uint64(): bigint {
    return this.#words().getBigUint64(0)
  }

  /** The next varint as 64 bits. Bigint arithmetic would make three numbers for one. */
  #words(): DataView {
    this.#varint()
    WORDS.setUint32(0, this.#high)
    WORDS.setUint32(4, this.#low)
    return WORDS
  }

  /** A copy, so that a key that is kept doesn't keep the whole network chunk. */
  bytes(): Buffer {
    const size = this.#length()
    const at = this.#take(size)
    return Buffer.copyBytesFrom(this.#buffer, at, size)
  }

  string(): string {
    const size = this.#length()
    const at = this.#take(size)
    return this.#buffer.toString('utf8', at, at + size)
  }

  /** Runs `read` with the end of input set to the end of the next length-delimited value. */
  within<T>(read: () => T): T {
    const size = this.#length()
    const at = this.#take(size)
    const end = this.#end
    if (++this.#depth > DEPTH_MAX || ++this.#nested > NESTED_MAX) {
      throw new EtcdProtocolError(
        `etcd message: more than ${DEPTH_MAX} messages in each other, or ${NESTED_MAX} in one`,
      )
    }
    this.#at = at
    this.#end = at + size
    const value = read()
    this.#depth--
    this.#end = end
    return value
  }

  skip(type: number): void {
    if (type === WireType.VARINT) this.#varint()
    else if (type === WireType.FIXED64) this.#take(8)
    else if (type === WireType.BYTES) this.#take(this.#length())
    else if (type === WireType.FIXED32) this.#take(4)
    else throw new EtcdProtocolError(`etcd message: unknown wire type ${type}`)
  }

  #length(): number {
    const size = this.int53()
    if (size < 0) throw new EtcdProtocolError(`etcd message: a length of ${size}`)
    return size
  }
}
