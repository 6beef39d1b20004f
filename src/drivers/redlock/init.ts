/** The first start of a deployment: writes the markers, so that the servers give votes at once. */
import { StoreError, UsageError } from '../../core/errors.ts'
import { system } from '../../system.ts'
import { Council } from './council.ts'
import { MAX_TTL_MS, type Settings } from './options.ts'
import type { Wire } from './wire.ts'

export interface Started {
  /** How many servers there are. */
  readonly servers: number
  readonly maxTtlMs: number
  /** The markers were there already: nothing was written. */
  readonly already: boolean
}

/**
 * All servers must answer, and none may have a marker: a server without one, among others that have one, has lost its data,
 * and then must keep quiet for one longest lease, which it does by itself.
 */
export async function startDeployment(wires: readonly Wire[], settings: Settings): Promise<Started> {
  const council = new Council(wires, `${settings.prefix}:redlock`, settings, system)
  // Only looked at: nobody joins before it is known what this is.
  council.isLooking = true
  try {
    await council.open()
    const { voters } = council
    for (const { trouble, phase } of voters) if (phase === 'lost' && trouble !== null) throw trouble
    if (voters.some(({ phase }) => phase !== 'ready' && phase !== 'unmarked')) {
      throw new StoreError(`all ${voters.length} servers must answer on a first start, and not all did in time`)
    }
    const longestMs = settings.maxTtlMs === 0 ? MAX_TTL_MS : settings.maxTtlMs
    const marked = voters.filter(({ longestMs: known }) => known !== 0)
    if (marked.length === voters.length) {
      return { servers: voters.length, maxTtlMs: marked[0]?.longestMs ?? longestMs, already: true }
    }
    if (marked.length > 0) {
      const named = voters.filter((voter) => !marked.includes(voter)).map(({ wire }) => wire.where)
      throw new UsageError(
        `this is no first start: ${marked.length} of ${voters.length} servers have their marker. ${named.join(', ')} must have lost theirs, and will vote again by themselves, one longest lease after a client has met them`,
      )
    }
    for (const voter of voters) await voter.hello('init', longestMs)
    return { servers: voters.length, maxTtlMs: longestMs, already: false }
  } finally {
    await council.close()
  }
}
