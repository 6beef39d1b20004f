/** A look at the server before it is relied on: too old, a replica, forbidden to us, or free to throw locks away. */
import { StoreError } from '../../core/errors.ts'
import { kindOf, replyOf } from './faults.ts'
import type { Transport } from './transport.ts'
import { script } from './wire/script.ts'

const PROBE = script('return 1')
const OLDEST = [6, 2] as const

/** Rejects with a StoreError when the server can't carry locks; warns when it may lose them. */
export async function survey(transport: Transport): Promise<void> {
  const info = await readInfo(transport)
  if (info !== null) {
    checkVersion(transport.where, info)
    checkRole(transport.where, info)
    checkEviction(transport.where, info)
  }
  await transport.run(PROBE, [], [])
}

/** What INFO says; null when this user may not ask. */
async function readInfo(transport: Transport): Promise<Map<string, string> | null> {
  try {
    const text = String(await transport.command(['INFO']))
    return new Map(text.split('\r\n').flatMap((line) => (/^\w+:/.test(line) ? [split(line)] : [])))
  } catch (error) {
    const reply = replyOf(error)
    if (reply !== null && kindOf(reply) === 'NOPERM') return null
    throw error
  }
}

function split(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1)]
}

function checkVersion(where: string, info: ReadonlyMap<string, string>): void {
  const version = info.get('redis_version') ?? ''
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (version === '' || major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return
  throw new StoreError(`Redis at ${where} has version ${version}; Holdfast needs ${OLDEST.join('.')} or newer`)
}

function checkRole(where: string, info: ReadonlyMap<string, string>): void {
  if (info.get('role') !== 'slave') return
  const primary = `${info.get('master_host')}:${info.get('master_port')}`
  throw new StoreError(
    `Redis at ${where} is a replica of ${primary}, and a replica takes no locks: give the primary, or redis+sentinel:// which finds it`,
  )
}

function checkEviction(where: string, info: ReadonlyMap<string, string>): void {
  const policy = info.get('maxmemory_policy') ?? 'noeviction'
  if (policy === 'noeviction' || (info.get('maxmemory') ?? '0') === '0') return
  process.emitWarning(
    `Redis at ${where} evicts keys when its memory is full (maxmemory-policy ${policy}): a lock may vanish while it is held. Use noeviction.`,
    { type: 'HoldfastWarning', code: 'HF_EVICTION' },
  )
}
