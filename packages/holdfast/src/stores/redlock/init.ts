/** The first start of a deployment: writes the markers, so that the servers give votes at once. */
import { StoreError, UsageError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { Servers } from './servers.ts'
import { type Deployment, listed } from './deployment.ts'
import type { Settings } from './options.ts'
import { Reconfiguration } from './reconfiguration.ts'
import type { Wire } from './wire.ts'

/** What the first start of a deployment has done. */
export interface Started {
  /** The name of the deployment, by which its servers know each other. */
  readonly deployment: string
  /** How many servers there are. */
  readonly servers: number
  /** The longest lease that the servers will give. */
  readonly maxTtlMs: number
  /** The markers were there already: nothing was written. */
  readonly already: boolean
}

/**
 * All servers must answer, and none may have a marker: a server without one, among others that have one, has lost its
 * data, and then must keep quiet for one longest lease, which it does by itself.
 */
export async function startDeployment(wires: readonly Wire[], settings: Settings, runtime: Runtime): Promise<Started> {
  // Only looked at: nobody changes anything before it is known what this is.
  const servers = new Servers(wires, `${settings.prefix}:redlock`, { ...settings, maxTtlMs: 0 }, runtime)
  const reconfiguration = new Reconfiguration(servers, settings, true)
  try {
    await servers.open()
    const { voters } = servers
    for (const { trouble, phase, answer } of voters) {
      if (phase === 'lost' && trouble !== null) throw trouble
      if (answer === null) throw new StoreError(`all ${voters.length} servers must answer, and not all did in time`)
    }
    const runs = new Map(voters.map((voter) => [voter.answer?.run, voter]))
    for (const voter of voters) {
      const twin = runs.get(voter.answer?.run)
      if (twin !== voter && twin !== undefined) {
        throw new UsageError(`${voter.wire.where} and ${twin.wire.where} are the same server: it would vote twice`)
      }
      if (voter.answer?.mayEvict === true) {
        throw new StoreError(
          `Redis at ${voter.wire.where} may evict votes when its memory is full: set its maxmemory-policy to ` +
            `noeviction`,
        )
      }
    }
    const before = servers.deployment
    if (before !== null) return startedBefore(servers, before, settings)
    const isFounded = await reconfiguration.found(voters, 'free', true)
    const { deployment } = servers
    if (!isFounded || deployment === null) {
      throw new StoreError('somebody else started the servers at the same time: run it again, to see what they are now')
    }
    return {
      deployment: deployment.id,
      servers: deployment.servers.length,
      maxTtlMs: deployment.maxTtlMs,
      already: false,
    }
  } finally {
    await servers.close()
  }
}

function startedBefore({ voters }: Servers, deployment: Deployment, settings: Settings): Started {
  const { id, servers, maxTtlMs } = deployment
  const ready = voters.filter(({ phase }) => phase === 'ready')
  if (ready.length < voters.length || servers.length !== voters.length) {
    const others = voters.filter((voter) => !ready.includes(voter)).map(({ wire }) => wire.where)
    throw new UsageError(
      `this is no first start: ${ready.length} of the ${voters.length} servers given belong to deployment ` +
        `${id}, which has ${servers.length}: ${listed(deployment)}. ${others.join(', ')}: one that lost its ` +
        `data votes again by itself, one longest lease after a client has met it; to add or replace ` +
        `servers run holdfast redlock resize`,
    )
  }
  if (settings.maxTtlMs !== 0 && settings.maxTtlMs !== maxTtlMs) {
    throw new UsageError(
      `these servers were started with a longest lease of ${maxTtlMs} ms, not ${settings.maxTtlMs} ms`,
    )
  }
  return { deployment: id, servers: servers.length, maxTtlMs, already: true }
}
