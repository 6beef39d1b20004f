/**
 * Writes a command as a RESP array, as a string whose every character is one byte (latin1). Strings, because V8 joins
 * them without copying and the socket then turns all commands of a tick into bytes at once; latin1, because it carries
 * any byte, so that binary arguments need no second path.
 */
import { UsageError } from '../../contract/errors.ts'

/** An argument of a command. Strings go as UTF-8; numbers in decimal, finite and within ±2^53; Buffers as they are. */
export type Argument = string | Buffer | number

const CACHED = 256
const counts: readonly string[] = Array.from({ length: CACHED }, (_, n) => `*${n}\r\n`)
const lengths: readonly string[] = Array.from({ length: CACHED }, (_, n) => `$${n}\r\n`)

/** The bytes of one command, one per character. Throws a UsageError on anything that is not an argument. */
export function encode(args: readonly Argument[]): string {
  const count = args.length
  if (count === 0) throw new UsageError('a command needs at least its name, but got an empty list')
  let text = count < CACHED ? (counts[count] as string) : `*${count}\r\n`
  for (let index = 0; index < count; index++) {
    text += bulk(latin1(args[index] as Argument))
  }
  return text
}

/** `EVAL` with its script, as `encodeScript` wants it; a script brings its own for `EVALSHA`. */
export function encodeHead(lua: string): string {
  return bulk('EVAL') + bulk(latin1(lua))
}

/**
 * The bytes of a script's call with these keys and arguments: one pass, no list in between, since locks are little
 * else.
 */
export function encodeScript(head: string, keys: readonly Argument[], args: readonly Argument[]): string {
  const count = 3 + keys.length + args.length
  const start = (count < CACHED ? (counts[count] as string) : `*${count}\r\n`) + head + bulk(String(keys.length))
  // Nearly all of it is ASCII: that is taken for granted, and looked at once for all instead of once for each.
  const rest = bulks(keys, asIfAscii) + bulks(args, asIfAscii)
  return start + (isAscii(rest) ? rest : bulks(keys, latin1) + bulks(args, latin1))
}

function bulks(all: readonly Argument[], bytesOf: (arg: Argument) => string): string {
  let text = ''
  for (let index = 0; index < all.length; index++) text += bulk(bytesOf(all[index] as Argument))
  return text
}

function asIfAscii(arg: Argument): string {
  return typeof arg === 'string' ? arg : latin1(arg)
}

function bulk(bytes: string): string {
  return (bytes.length < CACHED ? (lengths[bytes.length] as string) : `$${bytes.length}\r\n`) + bytes + '\r\n'
}

function latin1(arg: Argument): string {
  if (typeof arg === 'string') return isAscii(arg) ? arg : Buffer.from(arg, 'utf8').toString('latin1')
  if (typeof arg === 'number') {
    if (Math.abs(arg) <= Number.MAX_SAFE_INTEGER) return String(arg)
    throw new UsageError(`a number in a command must be finite and within ±2^53, but got ${arg}; give it as a string`)
  }
  if (Buffer.isBuffer(arg)) return arg.toString('latin1')
  throw new UsageError(`an argument of a command must be a string, a number or a Buffer, but got ${typeof arg}`)
}

function isAscii(text: string): boolean {
  const { length } = text
  // Up to here a loop beats the call into C++.
  if (length > 64) return Buffer.byteLength(text, 'utf8') === length
  for (let index = 0; index < length; index++) if (text.charCodeAt(index) > 0x7f) return false
  return true
}
