/**
 * Reads RESP2 and RESP3 from chunks cut anywhere. Nothing is read twice: a cut line, a cut blob and the aggregates
 * around them are kept as they stand. Nothing of a chunk is kept either, so that the socket may reuse its buffer.
 */
import { ProtocolError, ReplyError } from './errors.ts'
import type { Reply } from './reply.ts'

/** Where whole replies go. */
export interface ReplySink {
  /** Asked when a reply starts: whether its blobs are wanted as Buffers. */
  wantsBuffers(): boolean
  onReply(reply: Reply): void
  /** A message outside the order of replies. */
  onPush(items: Reply[]): void
}

/** What a reply may cost at most. */
export interface ParserLimits {
  readonly maxReplyBytes: number
  readonly maxDepth: number
}

/** An aggregate that still misses elements. */
interface Aggregate {
  readonly type: number
  readonly items: Reply[]
  readonly parent: Aggregate | null
  readonly depth: number
  missing: number
}

/** A blob that still misses bytes; `bytes` has room for its CR LF. */
interface Blob {
  readonly type: number
  readonly bytes: Buffer
  filled: number
}

const CR = 0x0d
const LF = 0x0a
const SIMPLE = 0x2b // +
const ERROR = 0x2d // -
const INTEGER = 0x3a // :
const BLOB = 0x24 // $
const ARRAY = 0x2a // *
const NULL = 0x5f // _
const BOOLEAN = 0x23 // #
const DOUBLE = 0x2c // ,
const BIG_NUMBER = 0x28 // (
const BLOB_ERROR = 0x21 // !
const VERBATIM = 0x3d // =
const MAP = 0x25 // %
const SET = 0x7e // ~
const PUSH = 0x3e // >
const ATTRIBUTE = 0x7c // |

/** Simple strings, errors and headers are a line; none of Redis's comes near this. */
const MAX_LINE_BYTES = 65_536
/**
 * The shortest element there is, `_` CR LF: a longer claim than the limit has room for is refused before it is
 * believed.
 */
const MIN_ELEMENT_BYTES = 3
/**
 * What an element costs in memory beyond its bytes: `%0` CR LF is 4 bytes on the wire and a Map of 200. Counted with
 * the bytes, or 64 MiB from a false server would take 3.5 GB, and of errors, which have a stack each, far more.
 */
const ARRAY_BYTES = 64
const MAP_BYTES = 256
const ERROR_BYTES = 1_024

/** One parser reads one connection, from its first byte to its last. */
export class Parser {
  readonly #sink: ReplySink
  readonly #maxReplyBytes: number
  readonly #maxDepth: number
  #line: Buffer[] = []
  #lineBytes = 0
  #blob: Blob | null = null
  #aggregate: Aggregate | null = null
  #buffers = false
  /** Bytes of the reply being read. */
  #bytes = 0

  constructor(sink: ReplySink, limits: ParserLimits) {
    this.#sink = sink
    this.#maxReplyBytes = limits.maxReplyBytes
    this.#maxDepth = limits.maxDepth
  }

  /** Reads a chunk to its end. Throws a ProtocolError, after which the parser and its connection are of no use. */
  feed(chunk: Buffer): void {
    let at = this.#blob !== null ? this.#fillBlob(this.#blob, chunk) : 0
    const end = chunk.length
    while (at < end) {
      let lf = at
      while (lf < end && chunk[lf] !== LF) lf++
      if (lf === end) {
        this.#keepLine(chunk, at, end)
        return
      }
      if (this.#lineBytes === 0) {
        at = this.#readLine(chunk, at, lf)
        continue
      }
      this.#keepLine(chunk, at, lf + 1)
      const line = Buffer.concat(this.#line)
      this.#line = []
      this.#lineBytes = 0
      // The blob that may follow is in `chunk`, not in `line`.
      const length = this.#readHeader(line, 0, line.length - 1)
      at = length < 0 ? lf + 1 : this.#readBlob(line[0] as number, length, chunk, lf + 1)
    }
  }

  #keepLine(chunk: Buffer, start: number, end: number): void {
    this.#lineBytes += end - start
    if (this.#lineBytes > MAX_LINE_BYTES)
      throw new ProtocolError(`Redis sent a line of more than ${MAX_LINE_BYTES} bytes`)
    this.#line.push(Buffer.from(chunk.subarray(start, end)))
  }

  /** Reads the line that ends at `lf`, and the blob behind it; gives where the next line starts. */
  #readLine(chunk: Buffer, start: number, lf: number): number {
    const length = this.#readHeader(chunk, start, lf)
    return length < 0 ? lf + 1 : this.#readBlob(chunk[start] as number, length, chunk, lf + 1)
  }

  /** Reads one line. Gives the length of the blob that follows it, or -1. */
  #readHeader(bytes: Buffer, start: number, lf: number): number {
    const end = lf - 1
    const type = bytes[start] as number
    if (end <= start || bytes[end] !== CR) throw notRedis(type)
    this.#count(lf + 1 - start)
    const body = start + 1
    switch (type) {
      case SIMPLE:
        // The answer to every SET, without a call into C++.
        if (end - body === 2 && bytes[body] === 0x4f && bytes[body + 1] === 0x4b) this.#deliver('OK')
        else this.#deliver(bytes.toString('utf8', body, end))
        return -1
      case INTEGER:
        this.#deliver(readInteger(bytes, body, end))
        return -1
      case BLOB:
      case VERBATIM:
      case BLOB_ERROR:
        return this.#openBlob(readLength(bytes, body, end))
      case ARRAY:
      case SET:
      case PUSH:
      case MAP:
      case ATTRIBUTE:
        this.#openAggregate(type, readLength(bytes, body, end))
        return -1
      case ERROR:
        this.#countError()
        this.#deliver(new ReplyError(bytes.toString('utf8', body, end)))
        return -1
      case NULL:
        this.#deliver(null)
        return -1
      case BOOLEAN:
        this.#deliver(readBoolean(bytes, body, end))
        return -1
      case DOUBLE:
        this.#deliver(readDouble(bytes, body, end))
        return -1
      case BIG_NUMBER:
        this.#deliver(readBigNumber(bytes, body, end))
        return -1
      default:
        throw notRedis(type)
    }
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > this.#maxReplyBytes) throw this.#tooLarge()
  }

  /** Errors among other elements; one that is the whole reply may be of any size. */
  #countError(): void {
    if (this.#aggregate !== null) this.#count(ERROR_BYTES)
  }

  #tooLarge(): ProtocolError {
    return new ProtocolError(`a reply of Redis is larger than ${this.#maxReplyBytes} bytes: ask for less at a time`)
  }

  #openBlob(length: number): number {
    if (this.#aggregate === null) this.#buffers = this.#sink.wantsBuffers()
    if (length < 0) this.#deliver(null)
    else this.#count(length + 2)
    return length
  }

  #readBlob(type: number, length: number, chunk: Buffer, start: number): number {
    const end = start + length
    if (end + 2 <= chunk.length) {
      this.#closeBlob(type, chunk, start, end)
      return end + 2
    }
    // Memory that was never written costs nothing yet, so a false claim within the limit is harmless.
    const bytes = Buffer.allocUnsafeSlow(length + 2)
    this.#blob = { type, bytes, filled: chunk.copy(bytes, 0, start) }
    return chunk.length
  }

  #fillBlob(blob: Blob, chunk: Buffer): number {
    const { type, bytes } = blob
    const copied = chunk.copy(bytes, blob.filled)
    blob.filled += copied
    if (blob.filled < bytes.length) return copied
    this.#blob = null
    this.#closeBlob(type, bytes, 0, bytes.length - 2)
    return copied
  }

  #closeBlob(type: number, bytes: Buffer, start: number, end: number): void {
    if (bytes[end] !== CR || bytes[end + 1] !== LF) throw notRedis(bytes[end] as number)
    if (type === BLOB_ERROR) {
      this.#countError()
      this.#deliver(new ReplyError(bytes.toString('utf8', start, end)))
      return
    }
    let from = start
    if (type === VERBATIM) {
      // Three letters for the format and a colon.
      if (end - start < 4 || bytes[start + 3] !== INTEGER) throw notRedis(type)
      from += 4
    }
    this.#deliver(this.#buffers ? Buffer.from(bytes.subarray(from, end)) : bytes.toString('utf8', from, end))
  }

  #openAggregate(type: number, length: number): void {
    const parent = this.#aggregate
    if (length < 0) {
      if (type !== ARRAY) throw notRedis(type)
      this.#deliver(null)
      return
    }
    if (parent === null) this.#buffers = type !== PUSH && type !== ATTRIBUTE && this.#sink.wantsBuffers()
    else if (type === PUSH) throw new ProtocolError('Redis sent a push message inside a reply')
    const missing = type === MAP || type === ATTRIBUTE ? length * 2 : length
    if (this.#bytes + missing * MIN_ELEMENT_BYTES > this.#maxReplyBytes) throw this.#tooLarge()
    if (parent !== null) this.#count(type === MAP || type === SET ? MAP_BYTES : ARRAY_BYTES)
    const depth = parent === null ? 1 : parent.depth + 1
    if (depth > this.#maxDepth) throw new ProtocolError(`a reply of Redis is nested more than ${this.#maxDepth} deep`)
    this.#aggregate = { type, items: [], parent, depth, missing }
    if (missing === 0) this.#close()
  }

  /** Puts a value into the aggregate around it, or hands it out when there is none. */
  #deliver(value: Reply): void {
    const aggregate = this.#aggregate
    if (aggregate === null) {
      this.#bytes = 0
      this.#sink.onReply(value)
      return
    }
    aggregate.items.push(value)
    if (--aggregate.missing === 0) this.#close()
  }

  /** The innermost aggregate is complete. */
  #close(): void {
    const { type, items, parent } = this.#aggregate as Aggregate
    this.#aggregate = parent
    if (type === PUSH) {
      this.#bytes = 0
      this.#sink.onPush(items)
    } else if (type === MAP) this.#deliver(toMap(items))
    else if (type === SET) this.#deliver(new Set(items))
    else if (type === ARRAY) this.#deliver(items)
    // An attribute is a remark on the value that follows it, and no element itself: it is read and dropped.
  }
}

function toMap(items: readonly Reply[]): Map<Reply, Reply> {
  const map = new Map<Reply, Reply>()
  for (let index = 0; index < items.length; index += 2) map.set(items[index] as Reply, items[index + 1] as Reply)
  return map
}

function notRedis(byte: number): ProtocolError {
  const shown =
    byte > 0x20 && byte < 0x7f ? `'${String.fromCharCode(byte)}'` : `byte 0x${byte.toString(16).padStart(2, '0')}`
  return new ProtocolError(
    `Redis sent ${shown} where RESP has no place for it: is this a Redis port, and is TLS set as on the server?`,
  )
}

const ZERO = 0x30
const NINE = 0x39
const MINUS = 0x2d
const PLUS = 0x2b
/** This many digits are always below 2^53. */
const SAFE_DIGITS = 15

/** Reads `:` lines; exact at any size. */
function readInteger(bytes: Buffer, start: number, end: number): number | bigint {
  if (end - start > SAFE_DIGITS) {
    const big = readBigNumber(bytes, start, end)
    const plain = Number(big)
    return Number.isSafeInteger(plain) ? plain : big
  }
  const first = bytes[start]
  let at = first === MINUS || first === PLUS ? start + 1 : start
  if (at >= end) throw malformed('an integer', bytes, start, end)
  let value = 0
  for (; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < ZERO || byte > NINE) throw malformed('an integer', bytes, start, end)
    value = value * 10 + (byte - ZERO)
  }
  // Zero is excepted: nobody wants a -0.
  return first === MINUS && value !== 0 ? -value : value
}

/** Reads the length of a blob or an aggregate; -1 is RESP2's null. */
function readLength(bytes: Buffer, start: number, end: number): number {
  if (end - start === 2 && bytes[start] === MINUS && bytes[start + 1] === ZERO + 1) return -1
  if (end === start || end - start > SAFE_DIGITS) throw malformed('a length', bytes, start, end)
  let value = 0
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < ZERO || byte > NINE) throw malformed('a length', bytes, start, end)
    value = value * 10 + (byte - ZERO)
  }
  return value
}

/** Reads `(` lines. */
function readBigNumber(bytes: Buffer, start: number, end: number): bigint {
  const text = bytes.toString('latin1', start, end)
  const digits = /^([+-]?)(\d+)$/.exec(text)
  if (digits === null) throw malformed('an integer', bytes, start, end)
  const magnitude = BigInt(digits[2] as string)
  return digits[1] === '-' ? -magnitude : magnitude
}

/** Reads `,` lines: decimal, `inf`, `-inf` or `nan`. */
function readDouble(bytes: Buffer, start: number, end: number): number {
  const text = bytes.toString('latin1', start, end).toLowerCase()
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(text)) return Number(text)
  if (text === 'inf' || text === '+inf') return Number.POSITIVE_INFINITY
  if (text === '-inf') return Number.NEGATIVE_INFINITY
  if (text === 'nan' || text === '-nan') return Number.NaN
  throw malformed('a double', bytes, start, end)
}

/** Reads `#` lines. */
function readBoolean(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.toString('latin1', start, end)
  if (text === 't') return true
  if (text === 'f') return false
  throw malformed('a boolean', bytes, start, end)
}

function malformed(what: string, bytes: Buffer, start: number, end: number): ProtocolError {
  const excerpt = JSON.stringify(bytes.toString('latin1', start, Math.min(end, start + 24)))
  return new ProtocolError(`Redis sent ${excerpt} where ${what} belongs: the peer does not speak RESP`)
}
