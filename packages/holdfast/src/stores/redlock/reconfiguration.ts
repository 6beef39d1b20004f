/**
 * Keeps the servers of a deployment one deployment: tells those that missed a change of it, takes in again those that
 * lost their data, and founds it when all servers are new. Why it can't make two hold:
 * docs/decisions/018-redlock-changes-its-servers.md.
 */
import { diagnostics } from '../../contract/events.ts'
import { StoreUnreachableError } from '../../contract/errors.ts'
import { Keys } from '../redis/keys.ts'
import { Cells } from './cells.ts'
import type { Servers } from './servers.ts'
import {
  confirmed,
  type Deployment,
  founded,
  isSame,
  majorityOf,
  readDeployment,
  replaced,
  serverIdOf,
  writeDeployment,
} from './deployment.ts'
import { MAX_TTL_MS, type Settings } from './options.ts'
import type { Voter } from './voter.ts'

const RETRY_MS = 300
/** How often a server that answers and is none of the deployment is asked who it is: nobody else would tell. */
const LOOK_AGAIN_MS = 1_000

export class Reconfiguration {
  readonly #servers: Servers
  readonly #settings: Settings
  readonly #keys: Keys
  /** In them is agreed, by a majority of the servers before a change, what comes after it: one cell for each epoch. */
  readonly #decisions: Cells
  /** Only sees to it that all know of a change; who founds and changes is an operator. */
  readonly #isPassive: boolean
  #cancelRetry: (() => void) | null = null
  #isAgain = false
  #isClosed = false
  isBusy: boolean = false

  constructor(servers: Servers, settings: Settings, isPassive: boolean) {
    this.#servers = servers
    this.#settings = settings
    this.#keys = new Keys(`${settings.prefix}:redlock`)
    this.#decisions = new Cells(servers, this.#keys, settings.nodeTimeoutMs)
    this.#isPassive = isPassive
  }

  /** A server has said who it is: maybe something is to be done. */
  review(): void {
    if (this.#isClosed) return
    this.#isAgain = true
    if (!this.isBusy) void this.#work()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelRetry?.()
  }

  /**
   * Founds a deployment of these servers, which were never used or have lost their data, or most of them. First each
   * gets to know of all, and gives no vote; only when all of them do, they are told to begin. So a server is never in
   * two: {a, b, c} and {c, d, e} are founded at once; c takes part in one, and the other never begins. The server with
   * the smallest run id is asked first: of those who found the same deployment at once, it chooses one, and the others
   * help.
   * @param how 'free': votes at once, on a first start. 'keep': after one longest lease.
   * @param overwrites one that is being founded, and maybe never will be.
   */
  async found(voters: readonly Voter[], how: 'free' | 'keep', overwrites: boolean): Promise<boolean> {
    const order = voters.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))
    const begun = order.map(({ deployment }) => deployment).find((one) => one?.epoch === 0 && isOf(one, order))
    const maxTtlMs = this.#settings.maxTtlMs === 0 ? MAX_TTL_MS : this.#settings.maxTtlMs
    const servers = order.map((voter) => ({ id: idOf(voter), where: voter.wire.where }))
    const id = this.#servers.runtime.randomId().slice(0, 16)
    const founding = begun ?? founded(id, this.#servers.deployment?.maxTtlMs ?? maxTtlMs, servers)
    for (const voter of order) {
      if (isSame(voter.deployment, founding)) continue
      // It has restarted since the list was made, as another server.
      if (!isListed(voter, founding)) return false
      if (voter.deployment?.epoch === 0 && !overwrites) return false
      if (!(await this.#adopt(voter, founding, idOf(voter), 'quiet'))) return false
    }
    for (const voter of order) {
      // One that has lost its data meanwhile would be told of a deployment that has no place for it, and never vote
      // again.
      if (voter.deployment?.id !== founding.id) return false
      if (!(await this.#adopt(voter, confirmed(founding), voter.server, how))) return false
    }
    return true
  }

  /**
   * Changes the servers by one step. A majority of the present ones agrees on it first, and on no other; then all are
   * told.
   * @returns how many ms the change comes too early, or 0: it is done, or another change was agreed on. A hold that was
   * counted by the epoch before the present one may last that long; its majority need not share a server with one after
   * the next change.
   */
  async amend(next: Deployment): Promise<number> {
    const { counted } = this.#servers
    const earlyMs = await this.#earlyMs(counted)
    if (earlyMs > 0) return earlyMs
    const change = { version: 0n, next: writeDeployment(next), ttlMs: 0, nonce: this.#servers.runtime.randomId() }
    const { value } = await this.#decisions.swap(decisionOf(next), change, counted)
    const decided = readDeployment(value ?? '')
    if (decided?.epoch !== next.epoch) throw new StoreUnreachableError('another change of the servers is under way')
    const present = this.#servers.voters.filter((voter) => isSame(voter.deployment, counted))
    await Promise.all(present.map((voter) => this.#adopt(voter, decided, voter.server, 'keep')))
    return 0
  }

  async #work(): Promise<void> {
    this.isBusy = true
    this.#cancelRetry?.()
    this.#cancelRetry = null
    try {
      while (this.#isAgain && !this.#isClosed) {
        this.#isAgain = false
        await this.#step()
      }
    } catch (error) {
      diagnostics.failed('', error)
      this.#later(RETRY_MS)
    }
    this.isBusy = false
    this.#servers.reviewed()
    const isSettled = this.#servers.voters.every(({ phase }) => phase !== 'barred')
    if (!(this.#servers.isWhole && isSettled) && this.#cancelRetry === null) this.#later(LOOK_AGAIN_MS)
  }

  #later(ms: number): void {
    this.#cancelRetry?.()
    if (this.#isClosed) return
    const { runtime } = this.#servers
    const act = (): void => {
      this.#cancelRetry = null
      this.#servers.askAgain()
      this.review()
    }
    this.#cancelRetry = runtime.after(ms * (1 + runtime.random()), act, false)
  }

  async #step(): Promise<void> {
    const { voters, deployment } = this.#servers
    const answering = voters.filter(({ phase }) => phase === 'ready' || phase === 'barred')
    if (deployment === null) {
      const isNew = answering.every((one) => one.deployment === null || one.deployment.epoch === 0)
      if (this.#isPassive || answering.length < voters.length || !isNew) return
      await this.found(voters, 'keep', false)
      return
    }
    // Most have lost their data, and somebody founds it anew: one that is taken back then would be left alone in the
    // old one.
    const ready = voters.filter(({ phase }) => phase === 'ready')
    const isFounding = ready.length < majorityOf(deployment.servers.length) && this.#lost(deployment).lost.size > 0
    for (const voter of answering) {
      const told = voter.deployment
      if (told?.id !== deployment.id) {
        if (told === null || (told.epoch === 0 && !isFounding)) await this.#admit(voter, deployment)
        continue
      }
      // One that was let go and is taken in again has its old name no more.
      const isKnown = deployment.servers.some(({ id }) => id === voter.server)
      const isBack = !isKnown && deployment.servers.some(({ id }) => id === idOf(voter))
      if (told.epoch < deployment.epoch || isBack) {
        await this.#adopt(voter, deployment, isKnown ? voter.server : idOf(voter), 'keep')
      }
    }
    if (!this.#isPassive && isSame(deployment, this.#servers.deployment)) await this.#replace(deployment)
  }

  /**
   * A server that a change has taken in is told so, and gives no votes for one longest lease. One that stands for a
   * server that lost its data begins its silence not before a majority knows of the change: until then somebody may
   * still come to hold by the servers before it.
   */
  async #admit(voter: Voter, deployment: Deployment): Promise<void> {
    const server = deployment.servers.find(({ id }) => id === idOf(voter))
    if (server === undefined) return
    const { before } = deployment
    const moved = this.#servers.voters.filter(
      (one) => isSame(one.deployment, deployment) && before.includes(one.server),
    )
    if (server.isQuiet && moved.length < majorityOf(before.length)) return
    // Also one that a change has just added keeps quiet. A server that holds its run and is emptied (FLUSHALL, a
    // deleted marker) looks the same: A holds by a, b, c of five; c is emptied, taken in as if it had never voted, and
    // with d and e lets B in.
    await this.#adopt(voter, deployment, server.id, 'quiet')
  }

  /** Servers that have lost their data, and are known to be those of the deployment, are taken in again as new ones. */
  async #replace(deployment: Deployment): Promise<void> {
    const { lost, strangers } = this.#lost(deployment)
    const alive = this.#servers.voters.filter(({ phase }) => phase === 'ready')
    if (alive.length >= majorityOf(deployment.servers.length)) {
      const other = this.#otherName(deployment, lost, strangers)
      const all = other === null ? lost : new Map([...lost, other])
      if (all.size === 0) return
      const by = new Map([...all].map(([id, voter]) => [id, { id: idOf(voter), where: voter.wire.where }]))
      const earlyMs = await this.amend(replaced(deployment, by))
      if (earlyMs > 0) this.#later(Math.min(earlyMs, deployment.maxTtlMs))
      return
    }
    // Most have lost their data: nobody can hold by this deployment any more, nor agree on a change. It is founded
    // anew, if all are here. Not by one of another name: a client that was given d for c, when a lost its data, would
    // found {a, b, d}; (a, d) and (b, c) share no server.
    const begun = this.#servers.voters.filter((voter) => voter.deployment?.epoch === 0 && isListed(voter, deployment))
    const all = [...alive, ...begun, ...lost.values()]
    if (lost.size > 0 && all.length >= deployment.servers.length) await this.found(all, 'keep', false)
  }

  /**
   * Those that have no marker any more, by the server that each was; and those that may be any. One that is being
   * founded anew counts, too: who began that may have been cut off, and another must end it.
   */
  #lost(deployment: Deployment): { readonly lost: Map<string, Voter>; readonly strangers: readonly Voter[] } {
    const { voters } = this.#servers
    const lost = new Map<string, Voter>()
    const strangers: Voter[] = []
    const here = this.#here(deployment)
    for (const voter of voters) {
      const isFounded = voter.deployment?.epoch === 0 && !isListed(voter, deployment)
      if (voter.phase !== 'barred' || (voter.deployment !== null && !isFounded)) continue
      const server = this.#servers.serverOf(voter)
      if (server !== null && !here.has(server) && !lost.has(server)) lost.set(server, voter)
      else strangers.push(voter)
    }
    return { lost, strangers }
  }

  /**
   * One that is reached by another name than it was taken in by: all others are here, so that it can only be this one,
   * or was given in its place. Only if the others are reached by other names as well: c, let go for d and emptied,
   * would be put back by every client that still has the old list. And only if most agree: see above.
   */
  #otherName(
    deployment: Deployment,
    lost: ReadonlyMap<string, Voter>,
    strangers: readonly Voter[],
  ): readonly [string, Voter] | null {
    const here = this.#here(deployment)
    const missing = deployment.servers.filter(({ id }) => !here.has(id) && !lost.has(id))
    const [stranger, server] = [strangers[0], missing[0]]
    const { voters } = this.#servers
    const isAnybodyAway = voters.some(({ phase }) => phase !== 'ready' && phase !== 'barred')
    const isNamedAlike = deployment.servers.some(({ where }) => voters.some(({ wire }) => wire.where === where))
    if (stranger === undefined || server === undefined || isAnybodyAway || isNamedAlike) return null
    return strangers.length === 1 && missing.length === 1 ? [server.id, stranger] : null
  }

  #here({ id }: Deployment): Set<string> {
    const known = this.#servers.voters.filter(({ deployment }) => deployment?.id === id)
    return new Set(known.map(({ server }) => server))
  }

  /** How long the present epoch is too young for the next; by those who have been in it longest, a majority of them. */
  async #earlyMs(counted: Deployment): Promise<number> {
    const present = this.#servers.voters.filter((one) => one.phase === 'ready' && isSame(one.deployment, counted))
    const looks = await Promise.allSettled(present.map((voter) => voter.hello('look')))
    const settledMs = looks.flatMap((look) =>
      look.status === 'fulfilled' && isSame(look.value.deployment, counted) ? look.value.settledMs : [],
    )
    const quorum = majorityOf(counted.servers.length)
    const youngest = settledMs.toSorted((a, b) => b - a)[quorum - 1]
    if (youngest === undefined) throw new StoreUnreachableError('too few servers are there to change which there are')
    return Math.max(0, counted.maxTtlMs - youngest)
  }

  /** Whether it is now what it was to become; if not, it is known what it is. */
  async #adopt(voter: Voter, to: Deployment, server: string, how: 'keep' | 'quiet' | 'free'): Promise<boolean> {
    await voter.adopt(to, server, how, this.#keys.cell(decisionOf(to)))
    voter.join()
    await voter.met()
    return isSame(voter.deployment, to)
  }
}

function decisionOf({ epoch }: Deployment): string {
  return `servers.${epoch}`
}

function idOf({ answer }: Voter): string {
  return serverIdOf(answer?.run ?? '')
}

/** Whether it is one of the servers by the run in which it was taken in: it has not lost its data. */
function isListed(voter: Voter, { servers }: Deployment): boolean {
  return servers.some(({ id }) => id === idOf(voter))
}

/** Whether these are its servers. */
function isOf({ servers }: Deployment, voters: readonly Voter[]): boolean {
  return servers.length === voters.length && servers.every(({ id }) => voters.some((voter) => idOf(voter) === id))
}
