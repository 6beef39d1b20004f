/** Tickets: what `adopt` is given may come from anywhere. Whoever has one may hold the lock, and nothing more. */
import { parseProof, formatProof } from '../../../holdfast/src/fence/proof.ts'
import { HoldfastError } from '../../../holdfast/src/contract/errors.ts'
import type { Held } from '../../../holdfast/src/hold/held.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import { holdfast } from '../../../holdfast/src/open.ts'
import { Fault, type Target, textOf } from '../target.ts'

const TTL_MS = 10_000
let hf: Holdfast
let count = 0

async function adopted(text: string): Promise<Held | null> {
  try {
    return await hf.adopt(text)
  } catch (error) {
    if (error instanceof HoldfastError) return null
    throw error
  }
}

/** The next holder's token must still be larger, whatever stood in the ticket. */
async function mustRise(held: Held): Promise<void> {
  const { token } = held
  await held.release()
  // With a `minHoldMs` or `lockDelayMs` in the ticket the lock is not free yet.
  await hf.break(held.name)
  const next = await hf.mutex(held.name).tryAcquire()
  if (next === null) return
  if (next.token <= token) throw new Fault(`after ${token} came ${next.token}`)
  await next.release()
}

export const ticket: Target = {
  name: 'ticket',
  says: 'exported tickets',
  seeds: [
    '{}',
    '{"counter":5}',
    '{"counter":100000,"ttlMs":1}',
    '{"mode":"shared","weight":2,"capacity":3}',
    '{"id":"../x","ttlMs":9007199254740991,"lockDelayMs":1,"minHoldMs":1}',
    '{"line":"other","store":"redis"}',
    'bm90IGEgdGlja2V0',
  ].map((text) => Buffer.from(text)),
  words: [
    '{',
    '}',
    '"',
    ':',
    ',',
    '"id":',
    '"counter":',
    '"mode":"exclusive"',
    '"ttlMs":',
    '"weight":',
    '1e308',
    '-0',
    'null',
    '[]',
  ],
  async open() {
    hf = await holdfast('memory:', { ttlMs: TTL_MS })
  },
  async run(input) {
    const text = textOf(input)
    // A name of its own: what is done to this one must not keep the next one waiting.
    const held = await hf.mutex(`stock:${count++}`).acquire()
    const real = await held.export()
    await adopted(text)
    const changes = jsonOf(text)
    const forged = changes === null ? null : await adopted(withChanges(real, changes))
    const owner = forged ?? (await adopted(real))
    if (owner === null) return
    if (forged !== null && changes !== null && !('mode' in changes)) parseProof(formatProof(forged))
    await mustRise(owner)
  },
  close: () => hf.close(),
}

function jsonOf(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}

function withChanges(real: string, changes: object): string {
  const deed = JSON.parse(Buffer.from(real, 'base64url').toString()) as object
  return Buffer.from(JSON.stringify({ ...deed, ...changes })).toString('base64url')
}
