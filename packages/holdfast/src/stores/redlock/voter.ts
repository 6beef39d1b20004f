/**
 * One server of the deployment: joined anew on every connection, asked, and believed only as far as its marker and its
 * clock allow.
 */
import { HoldfastError, StoreError, StoreUnreachableError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { translate } from '../redis/errors.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import { Clock } from './clock.ts'
import { type Deployment, isSame, partOf, readDeployment, serverInPart, writeDeployment } from './deployment.ts'
import { ChangedError, SilentError } from './errors.ts'
import type { Step, Wire } from './wire.ts'

/** Who is told of what a voter learns. */
export interface VoterOwner {
  /** It answered hello: see `told`. The owner says whether it may be asked (`admit`) or why not (`bar`). */
  told(voter: Voter): void
  /** The connection is gone, or can't be had. */
  parted(voter: Voter): void
  /** Its clock has become known. */
  measured(): void
  /** Its clock, or ours, has jumped by so much. */
  jumped(voter: Voter, byMs: number): void
  gap(voter: Voter): void
}

const JOIN_AGAIN_MS = 300

/** An answer: the server's time in µs, its silence in ms, and what the step gives (see lua/). */
export type Items = readonly unknown[]

export class Voter {
  readonly index: number
  readonly wire: Wire
  readonly clock: Clock = new Clock()
  /** When it last gave an answer whose time fitted. */
  fitAt: number = Number.NEGATIVE_INFINITY
  /** The jump that was seen and not yet explained. */
  jumpMs: number = 0
  jumpAt: number = 0
  /** Far from the clocks of a majority. */
  isFar: boolean = false
  /** What it answered when it was last asked who it is; null: never yet. */
  answer: Hello | null = null
  /** Which server of which deployment it was when it last said so, also if it has lost its data since. */
  former: { readonly deployment: string; readonly server: string } | null = null
  phase: 'new' | 'joining' | 'ready' | 'barred' | 'lost' = 'new'
  /** Why it can't be asked; null: it can. */
  trouble: Error | null
  readonly #marker: string
  readonly #owner: VoterOwner
  readonly #runtime: Runtime
  #joining: Promise<void> | null = null
  /** It was asked to join while it was joining: what it is being told may be old already. */
  #joinsAgain = false
  /** Told when the first connection stands, or has failed. */
  readonly #met = new Set<() => void>()
  #cancelRetry: (() => void) | null = null
  #isOpen = false
  #isUp = false
  /** Somebody was told that it may evict votes. */
  #isWarned = false
  /** It gave no answer, and its client tells nothing: see #lose. */
  #isDoubted = false

  constructor(index: number, wire: Wire, marker: string, owner: VoterOwner, runtime: Runtime) {
    this.index = index
    this.wire = wire
    this.#marker = marker
    this.#owner = owner
    this.#runtime = runtime
    this.trouble = new StoreUnreachableError(`Redis at ${wire.where} is not connected yet`)
  }

  open(): void {
    if (this.#isOpen) return
    this.#isOpen = true
    this.wire.open({
      onUp: () => {
        this.#isUp = true
        this.join()
      },
      onDown: (error) => {
        this.#isUp = false
        this.#fail(error)
      },
      onGap: () => this.#owner.gap(this),
    })
  }

  /** The deployment that it says to be one of; null: it has no marker, or was not asked yet. */
  get deployment(): Deployment | null {
    return this.answer?.deployment ?? null
  }

  /** Which of its servers. */
  get server(): string {
    return serverInPart(this.answer?.part ?? '')
  }

  /**
   * Says hello; if that is under way, once more when it has ended. The server restarts; the client reconnects; its next
   * request must not count on votes of the run before: so nothing else is sent on a new connection until the marker has
   * been compared.
   */
  join(): void {
    if (!this.#isUp) return
    if (this.#joining !== null) {
      this.#joinsAgain = true
      return
    }
    this.phase = 'joining'
    this.#tellMet()
    this.trouble ??= new StoreUnreachableError(`Redis at ${this.wire.where} is being asked who it is`)
    this.#joining = this.#hello()
      .catch((error: unknown) => {
        this.#fail(error)
        this.#joinLater()
      })
      .finally(() => {
        this.#joining = null
        const isAgain = this.#joinsAgain
        this.#joinsAgain = false
        if (isAgain) this.join()
      })
  }

  /** It is one of the servers that vote, and may be asked. */
  admit(): void {
    this.phase = 'ready'
    this.#isDoubted = false
    this.trouble = null
  }

  /** It answers, and its votes do not count. */
  bar(trouble: Error): void {
    this.phase = 'barred'
    this.#isDoubted = false
    this.trouble = trouble
  }

  /** Until it has said who it is, if it is just being asked. */
  async met(): Promise<void> {
    while (this.#joining !== null) await this.#joining
  }

  /** The connection may stand all the same: then nobody would tell us to try again. */
  #joinLater(): void {
    this.#cancelRetry?.()
    // It was closed, or is away; then its coming back is told.
    if (!this.#isUp) return
    this.#cancelRetry = this.#runtime.after(JOIN_AGAIN_MS * (0.5 + this.#runtime.random()), () => this.join(), false)
  }

  /** Whether what is asked now is sent, maybe after it has said who it is. */
  get takes(): boolean {
    return !this.#isDoubted && (this.phase === 'ready' || this.phase === 'new' || this.phase === 'joining')
  }

  /**
   * One step on this server. Rejects at once when it is not connected, so that nobody waits for a dead one.
   * @param counted by which deployment the answer is to be counted: a server that knows another one is not asked.
   */
  ask(
    step: Step,
    keys: readonly string[],
    args: readonly Argument[],
    counted: Deployment | null = null,
  ): Promise<Items> {
    if (this.trouble !== null && this.#isDoubted) return Promise.reject(this.trouble)
    if (this.trouble !== null) return this.#ready().then(() => this.#ask(step, keys, args, counted))
    return this.#ask(step, keys, args, counted)
  }

  #ask(step: Step, keys: readonly string[], args: readonly Argument[], counted: Deployment | null): Promise<Items> {
    if (counted !== null && !isSame(counted, this.deployment)) {
      return Promise.reject(new ChangedError(this.wire.where))
    }
    const { answer } = this
    const sentAt = this.#runtime.now()
    return this.wire.run(step, [this.#marker, ...keys], [...this.#seal, ...args]).then(
      (reply) => this.#read(step, answer, sentAt, this.#itemsOf(reply)),
      (error: unknown) => {
        const told = translate(error, this.wire.where)
        if (!this.wire.tells && told instanceof StoreUnreachableError) this.#lose(told)
        throw told
      },
    )
  }

  /** What its marker must say; over a client that does not tell of reconnects, without the run. */
  get #seal(): [string, string] {
    const { run, part } = this.answer ?? { run: '', part: '' }
    return [this.wire.tells ? run + part : '', part]
  }

  /**
   * A client that the user has does not tell of an outage. A server freezes; thousands of requests would be queued for
   * it, each given up after its time, each done when it goes on, and each to be undone. So after the first it is asked
   * nothing but who it is, until it answers.
   */
  #lose(error: Error): void {
    if (this.phase !== 'ready') return
    this.#isDoubted = true
    this.#fail(error)
    this.join()
  }

  #read(step: Step, answer: Hello | null, sentAt: number, reply: Items): Items {
    const micros = reply[0] as number
    const silenceMs = reply[1] as number
    if (silenceMs === STRANGE && this.answer === answer) this.#strange()
    const fits = this.#fits(sentAt, micros)
    // These take votes away: that counts from whatever server.
    if (step === 'leave' || step === 'bury' || step === 'break') return reply
    if (!fits) throw new SilentError(this.wire.where, 0, 'its clock, or the clock of this process, has jumped')
    if (silenceMs === STRANGE) throw new ChangedError(this.wire.where)
    if (silenceMs === EVICTS) {
      this.#warnOfEviction()
      throw new SilentError(this.wire.where, 0, EVICTION)
    }
    if (silenceMs !== 0) throw new SilentError(this.wire.where, silenceMs, WHY)
    if (this.isFar) throw new SilentError(this.wire.where, 0, 'its clock is far from those of the other servers')
    return reply
  }

  /** A step that takes no votes: looking and observing. */
  async look(step: 'observe' | 'view', keys: readonly string[], args: readonly Argument[]): Promise<Items> {
    if (this.trouble !== null) await this.#ready()
    return (await this.#send(step, [this.#marker, ...keys], args)).slice(1)
  }

  /** Forbids its votes for one longest lease, for everybody. */
  async quarantine(): Promise<void> {
    if (this.trouble !== null) return
    await this.#send('quarantine', [this.#marker], this.#seal)
  }

  /** What its marker says; a join tells a server that restarted to keep quiet. */
  async hello(mode: 'look' | 'join'): Promise<Hello> {
    const sentAt = this.#runtime.now()
    const items = await this.#send('hello', [this.#marker], [mode])
    const [micros, silenceMs, run, , part, settledMs, text, mayEvict] = items
    this.#fits(sentAt, Number(micros))
    if (mayEvict === 1) this.#warnOfEviction()
    const deployment = readDeployment(String(text))
    return {
      silenceMs: Number(silenceMs),
      run: String(run),
      // A text that is none of ours is as good as none: the marker is written anew.
      part: String(part),
      settledMs: Number(settledMs),
      deployment,
      mayEvict: mayEvict === 1,
    }
  }

  /**
   * Makes it one of a deployment, if it still is what it said last. Whether it did; if not, it must be asked again who
   * it is.
   */
  async adopt(to: Deployment, server: string, how: 'keep' | 'quiet' | 'free', decision: string): Promise<boolean> {
    const from = this.answer?.part ?? ''
    const args = [from, partOf(to, server), to.maxTtlMs, how, writeDeployment(to)]
    const [, isDone] = await this.#send('adopt', [this.#marker, decision], args)
    return isDone === 1
  }

  close(): Promise<void> {
    this.#isUp = false
    this.#cancelRetry?.()
    return this.wire.close()
  }

  /** Waits for a hello that is under way; a server that is away is not waited for. */
  async #ready(): Promise<void> {
    if (this.phase === 'new') await new Promise<void>((resolve) => void this.#met.add(resolve))
    await this.met()
    if (this.trouble !== null) throw this.trouble
  }

  async #hello(): Promise<void> {
    this.answer = await this.hello('join')
    if (this.deployment !== null) this.former = { deployment: this.deployment.id, server: this.server }
    this.#owner.told(this)
  }

  #tellMet(): void {
    for (const tell of this.#met) queueMicrotask(tell)
    this.#met.clear()
  }

  #warnOfEviction(): void {
    if (this.#isWarned) return
    this.#isWarned = true
    process.emitWarning(`Redis at ${this.wire.where} gives no votes: ${EVICTION}.`, {
      type: 'HoldfastWarning',
      code: 'HF_EVICTION',
    })
  }

  /** The marker is not what it was when this connection was made: it was deleted, or written by a later run. */
  #strange(): void {
    this.trouble = new StoreUnreachableError(
      `Redis at ${this.wire.where} has lost its marker, or the servers have changed`,
    )
    this.join()
  }

  #fits(sentAt: number, micros: number): boolean {
    const isNew = !this.clock.isKnown
    const jumpMs = this.clock.observe(sentAt, this.#runtime.now(), micros / 1_000)
    if (isNew) this.#owner.measured()
    if (jumpMs === 0) {
      this.fitAt = sentAt
      return true
    }
    this.#owner.jumped(this, jumpMs)
    return false
  }

  async #send(step: Step, keys: readonly string[], args: readonly Argument[]): Promise<Items> {
    let reply: unknown
    try {
      reply = await this.wire.run(step, keys, args)
    } catch (error) {
      throw translate(error, this.wire.where)
    }
    return this.#itemsOf(reply)
  }

  #itemsOf(reply: unknown): Items {
    if (Array.isArray(reply)) return reply
    throw new StoreError(`Redis at ${this.wire.where} answered a script of ours with ${typeof reply}: is it a Redis?`)
  }

  #fail(error: unknown): void {
    this.phase = 'lost'
    this.#tellMet()
    this.trouble = error instanceof HoldfastError ? error : translate(error, this.wire.where)
    this.#owner.parted(this)
  }
}

export interface Hello {
  readonly silenceMs: number
  readonly run: string
  /** What the marker says behind the run; '' without a marker. */
  readonly part: string
  /** Since its epoch began. */
  readonly settledMs: number
  /** null: it has no marker. */
  readonly deployment: Deployment | null
  /** Its memory policy lets it throw votes away: it gives none. */
  readonly mayEvict: boolean
}

/** In the place of a silence (see lua/guard.lua). */
const STRANGE = -1
const EVICTS = -2
const EVICTION =
  'it may evict votes when its memory is full. Set its maxmemory-policy to noeviction; one longest lease later it votes'
const WHY =
  'it restarted, lost its data or its clock jumped, and may have forgotten votes that still count. On a first ' +
  'start run: holdfast redlock init'
