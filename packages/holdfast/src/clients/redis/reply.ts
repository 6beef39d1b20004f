/** What a reply becomes in JavaScript, and the scalars that are read from a single line. */
import { ProtocolError } from './errors.ts'
import type { ReplyError } from './errors.ts'

/**
 * A reply: text as string (as Buffer if asked for), an integer as number (as bigint beyond ±2^53), a big number as
 * bigint, a map as Map, a set as Set. An error inside an array is a value; at the top it rejects the command.
 */
export type Reply =
  | string
  | Buffer
  | number
  | bigint
  | boolean
  | null
  | ReplyError
  | Reply[]
  | Map<Reply, Reply>
  | Set<Reply>

const ZERO = 0x30
const NINE = 0x39
const MINUS = 0x2d
const PLUS = 0x2b
/** This many digits are always below 2^53. */
const SAFE_DIGITS = 15

/** Reads `:` lines; exact at any size. */
export function readInteger(bytes: Buffer, start: number, end: number): number | bigint {
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
export function readLength(bytes: Buffer, start: number, end: number): number {
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
export function readBigNumber(bytes: Buffer, start: number, end: number): bigint {
  const text = bytes.toString('latin1', start, end)
  const digits = /^([+-]?)(\d+)$/.exec(text)
  if (digits === null) throw malformed('an integer', bytes, start, end)
  const magnitude = BigInt(digits[2] as string)
  return digits[1] === '-' ? -magnitude : magnitude
}

/** Reads `,` lines: decimal, `inf`, `-inf` or `nan`. */
export function readDouble(bytes: Buffer, start: number, end: number): number {
  const text = bytes.toString('latin1', start, end).toLowerCase()
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/.test(text)) return Number(text)
  if (text === 'inf' || text === '+inf') return Number.POSITIVE_INFINITY
  if (text === '-inf') return Number.NEGATIVE_INFINITY
  if (text === 'nan' || text === '-nan') return Number.NaN
  throw malformed('a double', bytes, start, end)
}

/** Reads `#` lines. */
export function readBoolean(bytes: Buffer, start: number, end: number): boolean {
  const text = bytes.toString('latin1', start, end)
  if (text === 't') return true
  if (text === 'f') return false
  throw malformed('a boolean', bytes, start, end)
}

function malformed(what: string, bytes: Buffer, start: number, end: number): ProtocolError {
  const excerpt = JSON.stringify(bytes.toString('latin1', start, Math.min(end, start + 24)))
  return new ProtocolError(`Redis sent ${excerpt} where ${what} belongs: the peer does not speak RESP`)
}
