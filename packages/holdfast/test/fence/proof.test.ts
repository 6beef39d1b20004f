import { describe, expect, test } from 'vitest'
import { UnsupportedError, UsageError } from '../../src/contract/errors.ts'
import { environmentProof, formatProof, parseProof, type Proof, proofOf } from '../../src/fence/index.ts'
import { holdfast } from '../../src/open.ts'

const PROOF: Proof = { line: 'stock:42', token: 2n ** 63n - 1n, place: '0123456789abcdef' }

describe('the proof of a hold', () => {
  test('is that of a mutex, a write lock or an election', async () => {
    await using hf = await holdfast('memory:')
    for (const held of [
      await hf.mutex('a').acquire(),
      await hf.rwLock('b').write.acquire(),
      await hf.election('c').campaign(),
    ]) {
      expect(proofOf(held)).toEqual({
        line: held.name,
        token: held.token,
        place: expect.stringMatching(/^[0-9a-f]{16}$/),
      })
      expect(parseProof(formatProof(held))).toEqual(proofOf(held))
      // It stays what it was: the guard judges by the token, not by the clock of the holder.
      await held.release()
      expect(proofOf(held).token).toBe(held.token)
    }
  })

  test('is refused for shared holds, for several at once, and where tokens do not rise', async () => {
    await using hf = await holdfast('memory:')
    expect(() => proofOf({ credential: { line: 'a', mode: 'exclusive', fenced: false } } as never)).toThrow(
      UnsupportedError,
    )
    for (const held of [await hf.rwLock('r').read.acquire(), await hf.semaphore('s', 1).acquire()]) {
      expect(() => proofOf(held)).toThrow(UsageError)
    }
    const both = await hf.all([hf.mutex('a'), hf.mutex('b')]).acquire()
    expect(() => proofOf(both as never)).toThrow(/give one of its `holds`/)
    expect(proofOf(both.holds[1] as never).line).toBe('b')
  })
})

describe('a proof as text', () => {
  test.each(['stock:42', 'a b', 'ü🔒%', "it's;=,", 'x'.repeat(512)])('carries the line %j', (line) => {
    const text = formatProof({ ...PROOF, line })
    expect(text).toMatch(/^[\x20-\x7e]+$/)
    expect(parseProof(text)).toEqual({ ...PROOF, line })
  })

  test.each([
    '',
    '5',
    '05; place=0123456789abcdef; line=l',
    '0; place=0123456789abcdef; line=l',
    '-5; place=0123456789abcdef; line=l',
    '9223372036854775808; place=0123456789abcdef; line=l',
    '5; place=0123456789ABCDEF; line=l',
    '5; place=0123456789abcde; line=l',
    '5; place=0123456789abcdef; line=',
    '5; place=0123456789abcdef; line=%',
    '5; place=0123456789abcdef; line=%ff',
    '5; place=0123456789abcdef; line=l, 6; place=0123456789abcdef; line=l',
    `5; place=0123456789abcdef; line=${'x'.repeat(513)}`,
  ])('is refused: %j', (text) => {
    expect(() => parseProof(text)).toThrow(UsageError)
  })

  test.each([
    null,
    5,
    'x',
    {},
    { ...PROOF, token: 5 },
    { ...PROOF, token: '5' },
    { ...PROOF, token: 0n },
    { ...PROOF, token: 2n ** 63n },
    { ...PROOF, place: 'x' },
    { ...PROOF, line: '' },
    { token: 5n },
  ])('and so is a value that is none: %o', (value) => {
    expect(() => proofOf(value as never)).toThrow(UsageError)
  })
})

describe('the proof of a program that was started by holdfast run', () => {
  const env = { HOLDFAST_LINE: 'l', HOLDFAST_TOKEN: String(PROOF.token), HOLDFAST_PLACE: PROOF.place }

  test('is in its environment', () => {
    expect(environmentProof(env)).toEqual({ ...PROOF, line: 'l' })
    expect(environmentProof({ ...env, HOLDFAST_PLACE: undefined })).toBeNull()
    expect(environmentProof({})).toBeNull()
  })

  test.each([{ HOLDFAST_TOKEN: '5.0' }, { HOLDFAST_TOKEN: '' }, { HOLDFAST_PLACE: 'x' }, { HOLDFAST_LINE: '' }])(
    'and is refused when it is not what holdfast wrote: %o',
    (wrong) => {
      expect(() => environmentProof({ ...env, ...wrong })).toThrow(UsageError)
    },
  )
})
