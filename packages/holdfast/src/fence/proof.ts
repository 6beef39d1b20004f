/** What a guard compares: the token of an exclusive hold, and a name of its place. */
import { checkName, shown } from '../contract/check.ts'
import type { Credential } from '../hold/credential.ts'
import { channels } from '../contract/events.ts'
import { StaleTokenError, UnsupportedError, UsageError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'

/**
 * A proof is no secret of the lock: whoever knows it can write past a guard, but can't renew, release or take the lock.
 */
export interface Proof {
  readonly line: string
  readonly token: bigint
  /** 16 hex digits that name the holder's place. A guard refuses an equal token of another place. */
  readonly place: string
}

/** The token must fit into a signed 64-bit column. */
const TOKEN_MAX = 2n ** 63n - 1n

/** The proof of a hold, for whoever writes in its name. If a proof is given instead, its form is checked. */
export function proofOf(held: Held | Proof): Proof {
  const credential = credentialOf(held)
  if (credential === null) return checkProof(held)
  const { line, token, place, mode, fenced } = credential
  if (mode !== 'exclusive') {
    throw new UsageError(
      `lock ${JSON.stringify(line)}: a shared lock has no order among its holders, so its token proves nothing; take ` +
        `a mutex or the write lock`,
      { line },
    )
  }
  if (!fenced) {
    throw new UnsupportedError(
      `lock ${JSON.stringify(line)}: the tokens of this store do not rise, so no guard can use them`,
      { line },
    )
  }
  return { line, token, place }
}

/** null: this is no hold of ours. */
export function credentialOf(held: unknown): Credential | null {
  return typeof held === 'object' && held !== null && 'credential' in held ? (held.credential as Credential) : null
}

/**
 * The proof that `holdfast run` and `holdfast elect` give to the program that they start. null: they did not start this
 * program.
 */
export function environmentProof(env: Readonly<Record<string, string | undefined>> = process.env): Proof | null {
  const { HOLDFAST_LINE: line, HOLDFAST_TOKEN: token, HOLDFAST_PLACE: place } = env
  if (line === undefined || token === undefined || place === undefined) return null
  if (!/^\d{1,19}$/.test(token)) throw new UsageError(`HOLDFAST_TOKEN must be a decimal number, given ${shown(token)}`)
  return checkProof({ line, token: BigInt(token), place })
}

function checkProof(value: unknown): Proof {
  if (typeof value !== 'object' || value === null || !('token' in value) || !('place' in value)) {
    const hint = typeof value === 'object' && value !== null && 'holds' in value ? '; give one of its `holds`' : ''
    throw new UsageError(`a guard needs a hold, or the proof of one, given ${shown(value)}${hint}`)
  }
  const { line, token, place } = value as Record<keyof Proof, unknown>
  if (typeof token !== 'bigint' || token < 1n || token > TOKEN_MAX) {
    throw new UsageError(`a token must be a bigint from 1 to 2^63 - 1, given ${shown(token)}`)
  }
  if (typeof place !== 'string' || !/^[0-9a-f]{16}$/.test(place)) {
    throw new UsageError(`the place of a proof must be 16 hex digits, given ${shown(place)}`)
  }
  return { line: checkName('the line of a proof', line), token, place }
}

/** A proof as text, for a header or a message: `1792; place=0123456789abcdef; line=stock%3A42`. */
export function formatProof(held: Held | Proof): string {
  const { line, token, place } = proofOf(held)
  return `${token}; place=${place}; line=${encodeURIComponent(line)}`
}

const TEXT = /^([1-9]\d{0,18}); place=([0-9a-f]{16}); line=([A-Za-z0-9%_.!~*'()-]{1,1536})$/

/** Reads what `formatProof` wrote; anything else is a UsageError. */
export function parseProof(text: string): Proof {
  const match = TEXT.exec(text)
  const line = match === null ? null : decode(match[3] as string)
  if (match === null || line === null) {
    throw new UsageError(
      `a proof must look like "1792; place=0123456789abcdef; line=name", with the line percent-encoded, given ` +
        shown(text),
    )
  }
  return checkProof({ line, token: BigInt(match[1] as string), place: match[2] })
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) return null
    throw error
  }
}

/**
 * The refusal. A newer token causes it, or an equal token of another place: a store that lost its data may give the
 * same token twice.
 */
export function staleToken(resource: string, proof: Proof, newest: bigint): StaleTokenError {
  const { line, token: given } = proof
  if (channels['fence-refused'].hasSubscribers)
    channels['fence-refused'].publish({ resource, lock: line, given, newest })
  const reason = given === newest ? 'was seen from another holder' : `is stale: ${newest} was seen`
  return new StaleTokenError(`${JSON.stringify(resource)}: token ${given} of lock ${JSON.stringify(line)} ${reason}`, {
    line,
    given,
    newest,
  })
}
