/** A read lock that can become a write lock without letting go. Readers go on beside it; of its kind there is one at a time. */
import { checkFunction } from '../core/check.ts'
import type { Core } from '../core/core.ts'
import type { Credential } from '../core/credential.ts'
import { AcquireTimeoutError, LockLostError, NotHeldError, UnsupportedError, UsageError } from '../core/errors.ts'
import type { Handle } from '../core/handle.ts'
import type { Held, HoldState } from '../core/held.ts'
import { type Hold, ISSUES_PER_PLACE } from '../core/hold.ts'
import { LineLock } from '../core/lock.ts'
import { type AcquireOptions, type LockSettings, resolveAcquire } from '../core/options.ts'
import { Promotion } from '../core/promotion.ts'
import { makeSpec, type Spec } from '../core/spec.ts'
import { pause } from './pause.ts'

/** What the holder of an upgradeable read lock has. */
export interface UpgradeHeld extends Held {
  /** Waits for the readers to go, and writes. Releasing what it gives goes back to reading. */
  upgrade(options?: Pick<AcquireOptions, 'waitMs' | 'signal'>): Promise<Held>
}

export interface UpgradeLock {
  readonly name: string
  acquire(options?: AcquireOptions): Promise<UpgradeHeld>
  tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<UpgradeHeld | null>
  using<T>(fn: (held: UpgradeHeld) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
}

/** More than half of all: two never fit. What is left is for readers. */
const SHARE = 500_001

export class LineUpgradeLock implements UpgradeLock {
  readonly #core: Core
  readonly #lock: LineLock
  readonly #writing: Spec

  constructor(core: Core, name: string, capacity: number, settings: LockSettings) {
    this.#core = core
    const { runtime } = core
    this.#lock = new LineLock(core, makeSpec(runtime, { name, mode: 'shared', weight: SHARE, capacity }, settings))
    const rest = { name, mode: 'exclusive', weight: capacity - SHARE, capacity } as const
    this.#writing = { ...makeSpec(runtime, rest, settings), shareKey: null }
  }

  get name(): string {
    return this.#lock.name
  }

  async acquire(options?: AcquireOptions): Promise<UpgradeHeld> {
    this.#check()
    return this.#upgradeable(await this.#lock.acquire(options))
  }

  async tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<UpgradeHeld | null> {
    this.#check()
    const held = await this.#lock.tryAcquire(options)
    return held === null ? null : this.#upgradeable(held)
  }

  async using<T>(fn: (held: UpgradeHeld) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    checkFunction('the work given to using', fn)
    this.#check()
    return this.#lock.using(async (held) => {
      const upgradeable = this.#upgradeable(held)
      try {
        return await fn(upgradeable)
      } finally {
        await upgradeable.read()
      }
    }, options)
  }

  #upgradeable(held: Held): Upgradeable {
    return new Upgradeable(this.#core, held as Handle, this.#writing)
  }

  #check(): void {
    const { traits, name } = this.#core.driver
    if (traits.fair) return
    throw new UnsupportedError(
      `an upgradeable read lock can't be kept on ${name}, which has no order of places: ${traits.safety}`,
      { line: this.name },
    )
  }
}

/** A hold that stands for another, with what is its own put over it. */
abstract class HeldOver implements Held {
  protected readonly reader: Handle

  constructor(reader: Handle) {
    this.reader = reader
  }

  get name(): string {
    return this.reader.name
  }

  abstract readonly token: bigint
  abstract readonly signal: AbortSignal
  abstract readonly state: HoldState
  abstract readonly remainingMs: number
  abstract assertHeld(): void
  abstract release(): Promise<boolean>

  export(): Promise<string> {
    const message = `line ${JSON.stringify(this.name)}: an upgradeable hold can't be handed on`
    return Promise.reject(new UnsupportedError(message, { line: this.name }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}

/** What the handles of one place share: one that was entered again inside `using` would else wait for the first one's writing. */
interface Turns {
  writer: Writer | null
  isUpgrading: boolean
  /** How often it has written: each time is an issue of its place, with a token of its own. */
  times: number
}

const turnsOf = new WeakMap<Hold, Turns>()

class Upgradeable extends HeldOver implements UpgradeHeld {
  readonly #core: Core
  readonly #writing: Spec
  readonly #turns: Turns
  /** The writing that this handle began, and ends with it. */
  #writer: Writer | null = null

  constructor(core: Core, reader: Handle, writing: Spec) {
    super(reader)
    this.#core = core
    this.#writing = writing
    this.#turns = turnsOf.get(reader.hold) ?? { writer: null, isUpgrading: false, times: 0 }
    turnsOf.set(reader.hold, this.#turns)
  }

  get token(): bigint {
    return this.reader.token
  }

  get signal(): AbortSignal {
    return this.reader.signal
  }

  get state(): HoldState {
    return this.reader.state
  }

  get remainingMs(): number {
    return this.reader.remainingMs
  }

  get credential(): Credential {
    return this.reader.credential
  }

  assertHeld(): void {
    this.reader.assertHeld()
  }

  async upgrade(options?: Pick<AcquireOptions, 'waitMs' | 'signal'>): Promise<Held> {
    const { waitMs, signal } = resolveAcquire(options, false)
    this.assertHeld()
    signal?.throwIfAborted()
    const turns = this.#turns
    if (turns.isUpgrading || turns.writer?.live === true) {
      throw new UsageError(`line ${JSON.stringify(this.name)}: this hold is a write lock already, or becoming one`, {
        line: this.name,
      })
    }
    if (BigInt(turns.times + 1) >= ISSUES_PER_PLACE) {
      throw new UsageError(
        `line ${JSON.stringify(this.name)}: this hold has written ${turns.times} times; release it`,
        {
          line: this.name,
        },
      )
    }
    const { runtime } = this.#core
    const until = runtime.now() + waitMs
    turns.isUpgrading = true
    try {
      const promotion = new Promotion(this.#core, this.#writing, this.reader.hold.lease)
      const handle = await promotion.run(async (ms, changed) => {
        // Once the reader is lost, those behind it are granted: nothing may be waited for any more.
        this.assertHeld()
        const leftMs = until - runtime.now()
        if (leftMs <= 0) throw this.#timedOut(waitMs)
        await pause(runtime, Math.min(ms, leftMs), signal, changed)
      })
      const writer = new Writer(this.reader, handle, this.reader.token + BigInt(++turns.times))
      try {
        this.assertHeld()
        signal?.throwIfAborted()
        writer.assertHeld()
      } catch (error) {
        // The reader was released while the store was asked. The second place is granted, and nobody else knows of it: it would be renewed for ever.
        await handle.release()
        throw error
      }
      this.#writer = writer
      turns.writer = writer
      return writer
    } finally {
      turns.isUpgrading = false
    }
  }

  /** Goes back to reading. */
  async read(): Promise<void> {
    await this.#writer?.release()
  }

  async release(): Promise<boolean> {
    await this.read()
    return this.reader.release()
  }

  #timedOut(waitMs: number): AcquireTimeoutError {
    const message = `line ${JSON.stringify(this.name)}: readers stayed for ${waitMs} ms; this hold still reads`
    return new AcquireTimeoutError(message, { line: this.name })
  }
}

/**
 * A hold to write: both places must live, since writers that wait stand between the two, and are served when the first goes.
 * Its token is a further issue of the first place, and so below the tokens of those writers.
 */
class Writer extends HeldOver {
  readonly token: bigint
  readonly #over: Handle
  #signal: AbortSignal | null = null

  constructor(reader: Handle, over: Handle, token: bigint) {
    super(reader)
    this.#over = over
    this.token = token
  }

  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([this.reader.signal, this.#over.signal])
    return this.#signal
  }

  get state(): HoldState {
    const { state } = this.#over
    if (state === 'lost' || state === 'released') return state
    return this.reader.state === 'released' ? 'lost' : this.reader.state === 'held' ? state : this.reader.state
  }

  get live(): boolean {
    return this.state === 'held' || this.state === 'at-risk'
  }

  get remainingMs(): number {
    return Math.min(this.reader.remainingMs, this.#over.remainingMs)
  }

  get credential(): Credential {
    return { ...this.reader.credential, mode: 'exclusive', token: this.token, alone: false }
  }

  assertHeld(): void {
    this.#over.assertHeld()
    try {
      this.reader.assertHeld()
    } catch (error) {
      if (!(error instanceof NotHeldError)) throw error
      throw new LockLostError(`line ${JSON.stringify(this.name)}: the read lock under this write lock was released`, {
        line: this.name,
        cause: error,
      })
    }
  }

  async release(): Promise<boolean> {
    const isHeld = this.live
    return (await this.#over.release()) && isHeld
  }
}
