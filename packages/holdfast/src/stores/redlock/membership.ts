/** Who of the servers that a client was given belongs to which deployment, by what they say; and so, who votes. */
import { StoreError } from '../../contract/errors.ts'
import { type Deployment, isSame, listed, serverIdOf } from './deployment.ts'
import { ChangedError, SilentError } from './errors.ts'
import type { Voter } from './voter.ts'

const UNMARKED =
  'it has no marker: it lost its data, or was never one of the servers. A first start is: holdfast redlock ' +
  'init. To add it, or to put it in the place of another: holdfast redlock resize'
const FOUNDING =
  'not all servers of its deployment have been heard of yet. Give every client the same servers, and run: ' +
  'holdfast redlock init'

/** While the servers change a client may be short of one for a moment. */
const SHORT_MS = 1_000

export class Membership {
  deployment: Deployment | null = null
  /** Those that are among its servers, or may be: they were not heard of. */
  members: readonly Voter[] = []
  readonly #voters: readonly Voter[]
  readonly #maxTtlMs: number
  /** Of this deployment not all servers were given, as was noticed then. */
  #short: Deployment | null = null
  #shortSince = 0

  /** @param maxTtlMs what the client was told; 0: nothing. */
  constructor(voters: readonly Voter[], maxTtlMs: number) {
    this.#voters = voters
    this.#maxTtlMs = maxTtlMs
    this.members = voters
  }

  /** Of how many servers answers can be had. */
  get total(): number {
    return Math.min(this.members.length, this.deployment?.servers.length ?? this.members.length)
  }

  /** One of them has said who it is; that can change what the others are taken for. */
  call(voter: Voter): void {
    this.deployment = this.#elect()
    for (const one of this.#voters) {
      if (one !== voter && one.phase !== 'ready' && one.phase !== 'barred') continue
      const trouble = this.#judge(one)
      if (trouble === null) one.admit()
      else one.bar(trouble)
    }
    this.members = this.#reckon()
  }

  /**
   * Which server of the deployment it is, by its marker or, if it lost that, by what it said before; null: none, or not
   * known.
   */
  serverOf(voter: Voter): string | null {
    const { deployment } = this
    if (deployment === null) return null
    const told = voter.deployment
    if (told !== null && told.epoch > 0) return told.id === deployment.id ? this.#listed(voter.server) : null
    const former = voter.former?.deployment === deployment.id ? this.#listed(voter.former.server) : null
    if (former !== null) return former
    // One that was agreed on in its place, and does not know it yet, is known by its run.
    const run = serverIdOf(voter.answer?.run ?? '')
    return deployment.servers.find(({ id, where }) => id === run || where === voter.wire.where)?.id ?? null
  }

  /**
   * Says once for each change that this client was not given all servers, if that is still so a while after it was
   * noticed.
   */
  warn(nowMs: number): void {
    const { deployment } = this
    if (deployment === null || deployment.servers.length <= this.members.length) return
    if (!isSame(deployment, this.#short)) {
      this.#short = deployment
      this.#shortSince = nowMs
    } else if (nowMs - this.#shortSince >= SHORT_MS) {
      this.#shortSince = Number.POSITIVE_INFINITY
      process.emitWarning(
        `this client knows ${this.members.length} of the ${deployment.servers.length} servers of Redlock ` +
          `deployment ${deployment.id}. Give it all of them: ${listed(deployment)}`,
        { type: 'HoldfastWarning', code: 'HF_SERVERS' },
      )
    }
  }

  /**
   * The deployment that most of them are of, and its latest epoch. A server that once belonged elsewhere and was given
   * by mistake does not decide it for having answered first.
   */
  #elect(): Deployment | null {
    const told = this.#voters.flatMap(({ deployment }) =>
      deployment === null || deployment.epoch === 0 ? [] : deployment,
    )
    const count = (id: string | undefined): number => told.filter((one) => one.id === id).length
    let best = this.deployment
    for (const one of told) {
      const isMore = one.id !== best?.id && count(one.id) > count(best?.id)
      if (isMore || (one.id === best?.id && one.epoch > best.epoch)) best = one
    }
    return best
  }

  #judge(voter: Voter): Error | null {
    const { deployment } = this
    const { where } = voter.wire
    const told = voter.deployment
    if (told === null) return new SilentError(where, 0, UNMARKED)
    if (told.epoch === 0 && told.id !== deployment?.id) return new SilentError(where, 0, FOUNDING)
    if (deployment === null) return new SilentError(where, 0, FOUNDING)
    if (told.id !== deployment.id) {
      // It passes, if most servers lost their data and are being founded anew; if not, too few are left, and that is
      // told as lasting.
      return new SilentError(
        where,
        0,
        `it belongs to another deployment, ${told.id} (${listed(told)}), and not to ${deployment.id} ` +
          `(${listed(deployment)}). Give every client the same servers`,
      )
    }
    if (this.#maxTtlMs !== 0 && this.#maxTtlMs !== deployment.maxTtlMs) {
      return new StoreError(
        `Redis at ${where} belongs to a deployment whose longest lease (maxTtlMs) is ${deployment.maxTtlMs} ms, ` +
          `not ${this.#maxTtlMs} ms: all clients and servers must agree on one`,
      )
    }
    if (!isSame(told, deployment)) return new ChangedError(where)
    if (this.#listed(voter.server) === null) {
      return new SilentError(where, 0, `it is not one of the servers any more. They are ${listed(deployment)}`)
    }
    const twin = this.#voters.find(
      (other) => other !== voter && other.phase === 'ready' && other.answer?.run === voter.answer?.run,
    )
    if (twin === undefined) return null
    return new StoreError(`Redis at ${where} and at ${twin.wire.where} are the same server: it would vote twice`)
  }

  #reckon(): readonly Voter[] {
    const { deployment } = this
    if (deployment === null) return this.#voters
    const known = this.#voters.filter((voter) => this.serverOf(voter) !== null)
    if (known.length >= deployment.servers.length) return known
    // Of these nothing was heard yet.
    return this.#voters.filter((voter) => voter.answer === null || known.includes(voter))
  }

  #listed(server: string): string | null {
    return this.deployment?.servers.some(({ id }) => id === server) === true ? server : null
  }
}
