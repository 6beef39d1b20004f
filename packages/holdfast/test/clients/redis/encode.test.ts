/** Commands become exactly the bytes that RESP asks for. */
import { describe, expect, test } from 'vitest'
import { UsageError } from '../../../src/contract/errors.ts'
import { encode, encodeHead, encodeScript } from '../../../src/clients/redis/encode.ts'
import type { Argument } from '../../../src/clients/redis/encode.ts'
import { script } from '../../../src/clients/redis/script.ts'

function bytes(args: readonly Argument[]): Buffer {
  return Buffer.from(encode(args), 'latin1')
}

/** The plain way, without any trick. */
function expected(args: readonly Argument[]): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${args.length}\r\n`)]
  for (const arg of args) {
    const body = Buffer.isBuffer(arg) ? arg : Buffer.from(String(arg), 'utf8')
    parts.push(Buffer.from(`$${body.length}\r\n`), body, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
}

describe('encode', () => {
  test.each<[string, readonly Argument[]]>([
    ['words', ['SET', 'key', 'value', 'NX', 'PX', 30_000]],
    ['nothing in it', ['ECHO', '']],
    ['line ends', ['ECHO', '\r\n$5\r\n']],
    ['UTF-8', ['ECHO', 'é…😀']],
    ['UTF-8 beside bytes', ['SET', 'é', Buffer.from([0, 0xff, 0x80, 0x0d, 0x0a])]],
    ['a lone surrogate', ['ECHO', 'a\ud800', 'b']],
    ['long ASCII', ['ECHO', 'x'.repeat(1_000)]],
    ['long text with one é at its end', ['ECHO', `${'x'.repeat(1_000)}é`]],
    ['every byte', ['ECHO', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))]],
    ['numbers', ['ECHO', 0, -0, -1, 1.5, Number.MAX_SAFE_INTEGER]],
    ['300 arguments', ['DEL', ...Array.from({ length: 299 }, (_, index) => `k${index}`)]],
  ])('%s', (_, args) => {
    expect(bytes(args)).toEqual(expected(args))
  })

  test.each<[string, readonly unknown[]]>([
    ['no name', []],
    ['undefined', ['GET', undefined]],
    ['null', ['GET', null]],
    ['an object', ['GET', {}]],
    ['NaN', ['INCRBY', 'k', Number.NaN]],
    ['infinity', ['INCRBY', 'k', Number.POSITIVE_INFINITY]],
    ['a number that was rounded', ['INCRBY', 'k', 2 ** 60]],
  ])('refuses %s', (_, args) => {
    expect(() => encode(args as Argument[])).toThrow(UsageError)
  })
})

test.each<[string, readonly Argument[], readonly Argument[]]>([
  ['nothing', [], []],
  ['ASCII', ['k', 'k:q'], ['x'.repeat(300), 30_000, '']],
  ['a key that is not', ['ké{日本}', 'b'], ['plain']],
  ['an argument that is not', ['k'], ['plain', 'π'.repeat(100), 7]],
  ['bytes', ['k'], [Buffer.from([255, 0, 128, 13, 10]), 'ü']],
])('a script is called with the very bytes of the plain command: %s', (_, keys, args) => {
  const rest = [keys.length, ...keys, ...args]
  expect(encodeScript(encodeHead('return 1'), keys, args)).toBe(encode(['EVAL', 'return 1', ...rest]))
  const { sha1, head } = script('return 1')
  expect(encodeScript(head, keys, args)).toBe(encode(['EVALSHA', sha1, ...rest]))
})
