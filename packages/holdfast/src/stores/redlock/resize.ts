/**
 * Changes which servers a deployment has, while clients work: one more, one less, one after the other, until they are
 * those asked for.
 */
import { StoreError, StoreUnreachableError, UsageError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { Keys } from '../redis/keys.ts'
import { Cells } from './cells.ts'
import { Servers } from './servers.ts'
import { added, type Deployment, isSame, listed, removed, SERVERS_MAX, serverIdOf } from './deployment.ts'
import type { Settings } from './options.ts'
import { Reconfiguration } from './reconfiguration.ts'
import type { Voter } from './voter.ts'
import type { Wire } from './wire.ts'

/** What is being done, for people. */
export type Tell = (what: string) => void

/** What a change of servers has done. */
export interface Resized {
  /** The name of the deployment. */
  readonly deployment: string
  /** How many servers there are now. */
  readonly servers: number
  /** Changes that were made; 0: they were the servers already. */
  readonly changes: number
}

/** How long a change may take, apart from the time that must pass between two: all must be told, and answer. */
const CHANGE_MS = 30_000
const LOOK_MS = 50

export class Resize {
  readonly #servers: Servers
  readonly #reconfiguration: Reconfiguration
  readonly #cells: Cells
  readonly #keys: Keys
  readonly #targets: ReadonlySet<Voter>
  readonly #tell: Tell
  #changes = 0

  /** @param count how many of the wires, the first ones, lead to the servers that there are to be. */
  constructor(wires: readonly Wire[], count: number, settings: Settings, runtime: Runtime, tell: Tell) {
    this.#servers = new Servers(wires, `${settings.prefix}:redlock`, settings, runtime)
    this.#reconfiguration = new Reconfiguration(this.#servers, settings, true)
    this.#servers.reconfiguration = this.#reconfiguration
    this.#keys = new Keys(settings.prefix)
    this.#cells = new Cells(this.#servers, this.#keys, settings.nodeTimeoutMs)
    this.#targets = new Set(this.#servers.voters.slice(0, count))
    this.#tell = tell
  }

  async run(): Promise<Resized> {
    try {
      await this.#servers.open()
      this.#check()
      for (;;) {
        const deployment = this.#servers.counted
        const next = this.#next(deployment)
        if (next === null) return this.#end(deployment)
        await this.#change(deployment, next)
      }
    } finally {
      await this.#servers.close()
    }
  }

  /** Before anything is changed: what can't work is refused. */
  #check(): void {
    const { deployment, voters } = this.#servers
    if (deployment === null) {
      const told = voters.map(({ trouble }) => trouble?.message ?? '').filter((text) => text !== '')
      throw new StoreError(
        `none of these servers belongs to a deployment: on a first start run holdfast redlock init. ${told.join('; ')}`,
      )
    }
    this.#servers.check()
    const runs = new Set<string>()
    for (const voter of this.#targets) {
      const { answer, trouble, wire, phase } = voter
      if (answer === null || phase === 'lost')
        throw trouble ?? new StoreUnreachableError(`${wire.where} gave no answer`)
      if (runs.has(answer.run)) throw new UsageError(`${wire.where} is given by two names: it would vote twice`)
      runs.add(answer.run)
      if (answer.mayEvict) throw new StoreError(`${wire.where} may evict votes: set its maxmemory-policy to noeviction`)
      if (answer.deployment === null || answer.deployment.epoch === 0) continue
      if (answer.deployment.id !== deployment.id && trouble !== null) throw trouble
    }
  }

  /**
   * The next step on the way; null: there is none. First one more, then one less: so that there are never fewer than
   * there will be.
   */
  #next(deployment: Deployment): Deployment | null {
    const wanted = [...this.#targets]
    const missing = wanted.find((voter) => this.#serverOf(voter, deployment) === null)
    const kept = new Set(wanted.map((voter) => this.#serverOf(voter, deployment)))
    const surplus = deployment.servers.filter(({ id }) => !kept.has(id))
    // One that is away first: as long as it counts, the others may not fail.
    const gone =
      surplus.find(({ id }) => !this.#servers.voters.some((one) => isHere(one, deployment, id))) ?? surplus[0]
    const isOneMoreFirst =
      deployment.servers.length <= Math.max(wanted.length, 3) && deployment.servers.length < SERVERS_MAX
    if (missing !== undefined && (gone === undefined || isOneMoreFirst)) {
      return added(deployment, { id: serverIdOf(missing.answer?.run ?? ''), where: missing.wire.where })
    }
    return gone === undefined ? null : removed(deployment, gone.id)
  }

  #serverOf(voter: Voter, deployment: Deployment): string | null {
    return deployment.servers.find(({ id }) => isHere(voter, deployment, id))?.id ?? null
  }

  async #change(before: Deployment, next: Deployment): Promise<void> {
    await this.#carryCells()
    const [more] = next.servers.filter(({ id }) => !before.servers.some((one) => one.id === id))
    const [less] = before.servers.filter(({ id }) => !next.servers.some((one) => one.id === id))
    const what = more === undefined ? `without ${less?.where}` : `with ${more.where}`
    for (;;) {
      const earlyMs = await this.#reconfiguration.amend(next)
      if (earlyMs === 0) break
      this.#tell(`waiting ${Math.ceil(earlyMs / 1_000)} s: leases of before the latest change may still count`)
      await this.#sleep(earlyMs + 1)
    }
    // All that stay must know of it before the next: a server two changes behind is one that two majorities could miss.
    await this.#until(() => {
      const { deployment } = this.#servers
      if (deployment === null || deployment.epoch < next.epoch) return false
      const staying = [...this.#targets].filter((voter) => isAmong(voter, deployment))
      return staying.every((voter) => voter.phase === 'ready' && isSame(voter.deployment, deployment))
    }, what)
    this.#changes++
    this.#tell(`${next.servers.length} servers, ${what}`)
  }

  /**
   * Every cell is taken again by a majority of the present servers: one of them is among any majority after the next
   * change. A cell that nobody touched would else stay on servers of two changes ago.
   */
  async #carryCells(): Promise<void> {
    const names = new Set<string>()
    for (const { wire, phase } of this.#servers.voters) {
      if (phase !== 'ready') continue
      for await (const found of wire.scan(`${wire.keyPrefix}${this.#keys.pattern('')}:c`)) {
        for (const key of found) {
          const name = this.#keys.nameOf(key.slice(wire.keyPrefix.length, -2))
          if (name !== null) names.add(name)
        }
      }
    }
    for (const name of names) await this.#cells.swap(name, null)
  }

  async #until(isDone: () => boolean, what: string): Promise<void> {
    const until = this.#servers.runtime.now() + CHANGE_MS
    while (!isDone()) {
      if (this.#servers.runtime.now() > until) {
        throw new StoreUnreachableError(
          `the change to ${what} was agreed on, and not all servers could be told of it. They will be by the ` +
            `clients; run it again`,
        )
      }
      await this.#sleep(LOOK_MS)
      this.#reconfiguration.review()
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#servers.runtime.after(ms, resolve, true))
  }

  #end(deployment: Deployment): Resized {
    this.#tell(`the servers are ${listed(deployment)}`)
    return { deployment: deployment.id, servers: deployment.servers.length, changes: this.#changes }
  }
}

function isHere(voter: Voter, deployment: Deployment, id: string): boolean {
  return isSame(voter.deployment, deployment) && voter.server === id
}

/** It is one of its servers, or was when it last said who it is. */
function isAmong({ answer, former }: Voter, { id, servers }: Deployment): boolean {
  const names = [serverIdOf(answer?.run ?? ''), former?.deployment === id ? former.server : '']
  return servers.some((server) => names.includes(server.id))
}
