/** Tokens above 2^53 that differ only in their last bits: a double would take them for equal. */
import { expect } from 'vitest'
import { StaleTokenError } from '../../src/contract/errors.ts'
import type { Proof } from '../../src/fence/index.ts'

const BASES = [2n ** 53n + 1n, 2n ** 62n + 3n, 2n ** 63n - 2n]
const [MINE, THEIRS] = ['0123456789abcdef', 'fedcba9876543210']

export async function tellsTokensApart(
  check: (resource: string, proof: Proof) => Promise<unknown>,
  salt = '',
): Promise<void> {
  for (const base of BASES) {
    const resource = `tokens${salt} ${base} \u{1f512} '"\`{`
    const proof = (token: bigint, place = MINE): Proof => ({ line: 'l', token, place })
    const refused = async (given: Proof, newest: bigint): Promise<void> => {
      const error = await check(resource, given).catch((e: unknown) => e)
      expect(error).toBeInstanceOf(StaleTokenError)
      expect(error).toMatchObject({ code: 'HF_STALE_TOKEN', line: 'l', given: given.token, newest })
    }
    await check(resource, proof(base))
    await check(resource, proof(base))
    await refused(proof(base - 1n), base)
    await refused(proof(base, THEIRS), base)
    await refused(proof(99n), base)
    await check(resource, proof(base + 1n, THEIRS))
    await refused(proof(base), base + 1n)
    await refused(proof(base + 1n), base + 1n)
    // Another resource has a memory of its own.
    await check(`${resource} `, proof(1n))
  }
}
