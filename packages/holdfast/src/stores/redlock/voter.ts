/** One server of the deployment: joined anew on every connection, asked, and believed only as far as its marker and its clock allow. */
import { HoldfastError, StoreError, StoreUnreachableError } from '../../core/errors.ts'
import type { Runtime } from '../../core/runtime.ts'
import { translate } from '../redis/faults.ts'
import type { Argument } from '../redis/wire/encode.ts'
import { Clock } from './clock.ts'
import { SilentError } from './silence.ts'
import type { Step, Wire } from './wire.ts'

/** Who is told of what a voter learns. */
export interface VoterOwner {
  /** The longest lease of the deployment, as far as it is known; 0: not yet. */
  longestMs(): number
  /** It answered hello: its marker names that longest lease. An error: it can't be one of this deployment. */
  joined(voter: Voter): Error | null
  /** It answered hello and has no marker; it is joined again when the longest lease is known. */
  unmarked(voter: Voter): void
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
  run: string = ''
  longestMs: number = 0
  phase: 'new' | 'joining' | 'unmarked' | 'ready' | 'lost' = 'new'
  /** Why it can't be asked; null: it can. */
  trouble: Error | null
  readonly #marker: string
  readonly #owner: VoterOwner
  readonly #runtime: Runtime
  #joining: Promise<void> | null = null
  /** Told when the first connection stands, or has failed. */
  readonly #met = new Set<() => void>()
  #cancelRetry: (() => void) | null = null
  #isOpen = false
  #isUp = false
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

  /**
   * Says hello, unless that is under way. The server restarts; the client reconnects; its next request must not count on
   * votes of the run before: so nothing else is sent on a new connection until the marker has been compared.
   */
  join(): void {
    if (!this.#isUp || this.#joining !== null) return
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
      })
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

  /** One step on this server. Rejects at once when it is not connected, so that nobody waits for a dead one. */
  ask(step: Step, keys: readonly string[], args: readonly Argument[]): Promise<Items> {
    if (this.trouble !== null && this.#isDoubted) return Promise.reject(this.trouble)
    if (this.trouble !== null) return this.#ready().then(() => this.#ask(step, keys, args))
    return this.#ask(step, keys, args)
  }

  #ask(step: Step, keys: readonly string[], args: readonly Argument[]): Promise<Items> {
    const run = this.wire.tells ? this.run : ''
    const sentAt = this.#runtime.now()
    return this.wire.run(step, [this.#marker, ...keys], [run, this.longestMs, ...args]).then(
      (reply) => this.#read(step, run, sentAt, this.#itemsOf(reply)),
      (error: unknown) => {
        const told = translate(error, this.wire.where)
        if (!this.wire.tells && told instanceof StoreUnreachableError) this.#lose(told)
        throw told
      },
    )
  }

  /**
   * A client that the user has does not tell of an outage. A server freezes; thousands of requests would be queued for it, each given up after its
   * time, each done when it goes on, and each to be undone. So after the first it is asked nothing but who it is, until it answers.
   */
  #lose(error: Error): void {
    if (this.phase !== 'ready') return
    this.#isDoubted = true
    this.#fail(error)
    this.join()
  }

  #read(step: Step, run: string, sentAt: number, reply: Items): Items {
    const micros = reply[0] as number
    const silenceMs = reply[1] as number
    if (silenceMs < 0 && this.run === run) this.#strange()
    const fits = this.#fits(sentAt, micros)
    // These take votes away: that counts from whatever server.
    if (step === 'leave' || step === 'disown' || step === 'break') return reply
    if (!fits) throw new SilentError(this.wire.where, 0, 'its clock, or the clock of this process, has jumped')
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
    await this.#send('quarantine', [this.#marker], [this.wire.tells ? this.run : '', this.longestMs])
  }

  /** What its marker says, without joining; or a first start. */
  async hello(mode: 'look' | 'join' | 'init', longestMs: number): Promise<Hello> {
    const sentAt = this.#runtime.now()
    const [micros, silenceMs, run, longest, wasThere] = await this.#send('hello', [this.#marker], [mode, longestMs])
    this.#fits(sentAt, Number(micros))
    return { silenceMs: Number(silenceMs), run: String(run), longestMs: Number(longest), wasThere: wasThere === 1 }
  }

  close(): Promise<void> {
    this.#isUp = false
    this.#cancelRetry?.()
    return this.wire.close()
  }

  /** Waits for a hello that is under way; a server that is away is not waited for. */
  async #ready(): Promise<void> {
    if (this.phase === 'new') await new Promise<void>((resolve) => void this.#met.add(resolve))
    if (this.#joining !== null) await this.#joining
    if (this.trouble !== null) throw this.trouble
  }

  async #hello(): Promise<void> {
    const known = this.#owner.longestMs()
    // Without the constant only a look: a marker written with too small a one would end the silence too early.
    const { run, longestMs } = await this.hello(known === 0 ? 'look' : 'join', known)
    this.run = run
    this.longestMs = longestMs
    if (longestMs === 0) {
      this.phase = 'unmarked'
      this.trouble = new SilentError(this.wire.where, 0, UNMARKED)
      queueMicrotask(() => this.#owner.unmarked(this))
      return
    }
    const refusal = this.#owner.joined(this)
    if (refusal !== null) throw refusal
    this.phase = 'ready'
    this.#isDoubted = false
    this.trouble = null
  }

  #tellMet(): void {
    for (const tell of this.#met) queueMicrotask(tell)
    this.#met.clear()
  }

  /** The marker is not what it was when this connection was made: it was deleted, or written by a later run. */
  #strange(): void {
    this.trouble = new StoreUnreachableError(`Redis at ${this.wire.where} has lost its marker`)
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
  readonly longestMs: number
  /** The marker was there before. */
  readonly wasThere: boolean
}

const UNMARKED =
  'it has no marker, and no server that has one answered. On a first start all must answer, or maxTtlMs be given; better run: holdfast redlock init'
const WHY =
  'it restarted, lost its data or its clock jumped, and may have forgotten votes that still count. On a first start run: holdfast redlock init'
