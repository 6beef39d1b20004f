/**
 * Joins calls of one turn of the event loop that differ in nothing but their line: one run of the script serves all of
 * them. To begin a script and to end it costs the server as much as the script's own work, and the client likewise.
 * The first of a turn waits for the others if the turn before had any: turns of busy callers follow on one another. If
 * not, the first goes alone and at once: most turns have no second, and the server works on it meanwhile.
 */
import { StoreError } from '../../contract/errors.ts'
import { replyOf } from './errors.ts'
import type { Transport } from './transport.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import type { Script } from '../../clients/redis/script.ts'

/**
 * So many lines at most in one run: nobody else is served meanwhile. The first of a turn are fewer, so that the server
 * works on them while the rest are made.
 */
const MOST = 32
const MOST_FIRST = 8

/** What is asked of one line. Read here and not by whoever asks: a promise and its two closures less for each call. */
interface Ask<T> {
  readonly keys: readonly string[]
  readonly own: Argument | null
  readonly read: (reply: unknown) => T | Promise<T>
  /** The error that the caller gets instead. */
  readonly fault: (error: unknown) => unknown
}

interface Call {
  readonly ask: Ask<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

export class ScriptBatch {
  readonly #transport: Transport
  readonly #mayRepeat: boolean
  readonly #end = (): void => {
    this.#isBusy = this.#count > 1
    this.#count = 0
    this.#most = MOST_FIRST
    this.flush()
  }
  /** The calls of this turn; whether the turn before had more than one. */
  #count = 0
  #isBusy = false
  #most = MOST_FIRST
  #script: Script | null = null
  #shared: readonly Argument[] = []
  #calls: Call[] = []

  /** `mayRepeat`: a call that is made twice does what it does once. */
  constructor(transport: Transport, mayRepeat: boolean) {
    this.#transport = transport
    this.#mayRepeat = mayRepeat
  }

  /**
   * Runs a script that takes any number of lines: the keys of each, the shared arguments, then the own argument of
   * each. For one line it answers with that line's reply, for several with a list. Calls share by the same list of
   * arguments.
   */
  run<T>(script: Script, shared: readonly Argument[], ask: Ask<T>): Promise<T> {
    const isFirst = ++this.#count === 1
    if (isFirst) process.nextTick(this.#end)
    if ((isFirst && !this.#isBusy) || !this.#transport.joins) return this.#alone(script, shared, ask)
    return new Promise((resolve, reject) => {
      // Calls leave in the order in which they were made.
      if (this.#script !== script || this.#shared !== shared) {
        this.flush()
        this.#script = script
        this.#shared = shared
      }
      this.#calls.push({ ask, resolve: resolve as Call['resolve'], reject })
      if (this.#calls.length < this.#most) return
      this.#most = MOST
      this.flush()
    })
  }

  /** To be called before anything else is sent that must not overtake. */
  flush(): void {
    const calls = this.#calls
    const script = this.#script
    const [first] = calls
    if (script === null || first === undefined) return
    const shared = this.#shared
    this.#calls = []
    if (calls.length === 1) {
      this.#alone(script, shared, first.ask).then(first.resolve, first.reject)
      return
    }
    const keys: string[] = []
    const args = [...shared]
    for (const { ask } of calls) {
      keys.push(...ask.keys)
      if (ask.own !== null) args.push(ask.own)
    }
    this.#transport.run(script, keys, args).then(
      (reply) => share(reply, calls),
      (error: unknown) => this.#failed(script, shared, calls, error),
    )
  }

  #alone<T>(script: Script, shared: readonly Argument[], { keys, own, read, fault }: Ask<T>): Promise<T> {
    return this.#transport.run(script, keys, own === null ? shared : [...shared, own]).then(read, (error: unknown) => {
      throw fault(error)
    })
  }

  /** What the server refuses to one, such as a key of another type, is not refused to all: each asks by itself. */
  #failed(script: Script, shared: readonly Argument[], calls: readonly Call[], error: unknown): void {
    const asksAgain = this.#mayRepeat && replyOf(error) !== null
    for (const { ask, resolve, reject } of calls) {
      if (asksAgain) this.#alone(script, shared, ask).then(resolve, reject)
      else reject(ask.fault(error))
    }
  }
}

function share(reply: unknown, calls: readonly Call[]): void {
  const isEach = Array.isArray(reply) && reply.length === calls.length
  for (let i = 0; i < calls.length; i++) {
    const { ask, resolve, reject } = calls[i] as Call
    const item: unknown = isEach
      ? reply[i]
      : new StoreError(`a script for ${calls.length} locks was not answered with ${calls.length} replies`)
    try {
      if (item instanceof Error) reject(ask.fault(item))
      else resolve(ask.read(item))
    } catch (error) {
      reject(error)
    }
  }
}

/**
 * Arguments that calls have in common, made anew only when the numbers behind them change: calls with the same list can
 * be joined.
 */
export class BatchArgs {
  readonly #make: (ttlMs: number, how: number) => readonly (string | number)[]
  #ttlMs = -1
  #how = -1
  #list: readonly string[] = []

  constructor(make: (ttlMs: number, how: number) => readonly (string | number)[]) {
    this.#make = make
  }

  of(ttlMs: number, how: number): readonly string[] {
    if (ttlMs !== this.#ttlMs || how !== this.#how) {
      this.#ttlMs = ttlMs
      this.#how = how
      this.#list = this.#make(ttlMs, how).map(String)
    }
    return this.#list
  }
}

/** The members of a socket that are called. */
export interface Corkable {
  cork?(): void
  uncork?(): void
}

/**
 * Joins what a turn of the event loop writes to a socket that is not ours: a write for every command is half of what a
 * foreign client costs. The first goes alone and at once: most turns have no second, and the server works on it
 * meanwhile.
 */
export class WriteBatch {
  #begun = false
  #corked: readonly Corkable[] = []
  readonly #end = (): void => {
    for (const socket of this.#corked) socket.uncork?.()
    this.#corked = []
    this.#begun = false
  }

  /** To be called before a command is given to the client; `sockets` are those that it may be written to. */
  join(sockets: () => readonly Corkable[]): void {
    if (!this.#begun) {
      this.#begun = true
      process.nextTick(this.#end)
    } else if (this.#corked.length === 0) {
      this.#corked = sockets()
      for (const socket of this.#corked) socket.cork?.()
    }
  }
}
