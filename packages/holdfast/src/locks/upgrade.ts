/**
 * A read lock that can become a write lock without a release. Readers read beside it; only one upgradeable lock can be
 * held at a time.
 */
import { checkFunction } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import type { Credential } from '../hold/credential.ts'
import { AcquireTimeoutError, LockLostError, NotHeldError, UsageError } from '../contract/errors.ts'
import type { Handle } from '../hold/handle.ts'
import type { Held, HoldState } from '../hold/held.ts'
import { ISSUES_PER_PLACE } from '../hold/token.ts'
import type { Hold } from '../hold/hold.ts'
import { LineLock } from '../acquire/lock.ts'
import { type AcquireOptions, type LockSettings, resolveAcquire } from '../contract/options.ts'
import { cannotUpgrade, Raise } from '../acquire/raise.ts'
import { makeSpec } from '../acquire/spec.ts'
import { pause } from '../kit/pause.ts'

/** An upgradeable read lock that you hold. */
export interface UpgradeHeld extends Held {
  /** Waits for the readers to go, and then writes. Release the returned hold to go back to reading. */
  upgrade(options?: Pick<AcquireOptions, 'waitMs' | 'signal'>): Promise<Held>
}

/** Reads beside other readers, and can become the writer. */
export interface UpgradeLock {
  readonly name: string
  /** Waits in the queue for the lock. */
  acquire(options?: AcquireOptions): Promise<UpgradeHeld>
  /** One try; null: a writer or another upgradeable lock has it. */
  tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'>): Promise<UpgradeHeld | null>
  /** Runs the work while the lock is held. */
  using<T>(fn: (held: UpgradeHeld) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T>
}

/** More than half of the capacity, so two never fit. The rest is for readers. */
const SHARE = 500_001

export class LineUpgradeLock implements UpgradeLock {
  readonly #core: Core
  readonly #lock: LineLock
  readonly #capacity: number

  constructor(core: Core, name: string, capacity: number, settings: LockSettings) {
    this.#core = core
    this.#capacity = capacity
    const line = { name, mode: 'shared', weight: SHARE, capacity } as const
    this.#lock = new LineLock(core, makeSpec(core, line, settings))
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
    return new Upgradeable(this.#core, held as Handle, this.#capacity)
  }

  #check(): void {
    if (this.#core.driver.reweigh === undefined) throw cannotUpgrade(this.#core, this.name)
  }
}

/** A hold that wraps another hold, and replaces some members with its own. */
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

  get wanted(): AbortSignal {
    return this.reader.wanted
  }

  abstract readonly remainingMs: number
  abstract assertHeld(): void
  abstract release(): Promise<boolean>

  extend(ms?: number): Promise<void> {
    return this.reader.extend(ms)
  }

  export(): Promise<string> {
    return this.reader.export()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release()
  }
}

/**
 * What all handles of one hold share. Without it, a handle from re-entry inside `using` would wait for the first
 * handle's writing.
 */
class Writing {
  readonly raise: Raise
  writer: Writer | null = null
  isUpgrading = false
  /** How often this hold has written: each time is another issue of its place, with a token of its own. */
  times = 0

  constructor(raise: Raise) {
    this.raise = raise
  }
}

const writings = new WeakMap<Hold, Writing>()

class Upgradeable extends HeldOver implements UpgradeHeld {
  readonly #core: Core
  readonly #writing: Writing
  /** The writing that this handle began, and that ends with this handle. */
  #writer: Writer | null = null

  constructor(core: Core, reader: Handle, capacity: number) {
    super(reader)
    this.#core = core
    this.#writing = writings.get(reader.hold) ?? new Writing(new Raise(core, reader.hold, capacity))
    writings.set(reader.hold, this.#writing)
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
    const writing = this.#writing
    if (writing.isUpgrading || writing.writer?.live === true) {
      throw new UsageError(`lock ${JSON.stringify(this.name)}: this hold is a write lock already, or is becoming one`, {
        line: this.name,
      })
    }
    if (BigInt(writing.times + 1) >= ISSUES_PER_PLACE) {
      throw new UsageError(
        `lock ${JSON.stringify(this.name)}: this hold was upgraded ${writing.times} times, ` +
          'the most there can be; release it',
        { line: this.name },
      )
    }
    const { runtime } = this.#core
    const until = runtime.now() + waitMs
    writing.isUpgrading = true
    try {
      const check = (): void => {
        signal?.throwIfAborted()
        // Once the read lock is lost, those behind it are granted, so waiting must end here.
        this.assertHeld()
      }
      await writing.raise.begin(check, async (ms, changed) => {
        const leftMs = until - runtime.now()
        if (leftMs <= 0) throw writing.raise.unreachable(waitMs) ?? this.#timedOut(waitMs)
        await pause(runtime, Math.min(ms, leftMs), signal, changed)
        check()
      })
      const writer = new Writer(this.reader, writing.raise, this.reader.token + BigInt(++writing.times))
      this.#writer = writer
      writing.writer = writer
      return writer
    } finally {
      writing.isUpgrading = false
    }
  }

  /** Goes back to reading. */
  async read(): Promise<void> {
    await this.#writer?.release()
  }

  async release(): Promise<boolean> {
    await this.read()
    const released = this.reader.release()
    // An upgrade that still waits for the readers hears now, not with the next heartbeat, that its hold is over.
    this.#writing.raise.woke()
    return released
  }

  #timedOut(waitMs: number): AcquireTimeoutError {
    const message = `lock ${JSON.stringify(this.name)}: readers stayed for ${waitMs} ms; this hold still reads`
    return new AcquireTimeoutError(message, { line: this.name })
  }
}

/**
 * A hold to write: the same place, with more weight. Its token is a further issue of that place, and so lower than the
 * tokens of all writers that wait behind it.
 */
class Writer extends HeldOver {
  readonly token: bigint
  readonly #raise: Raise
  #releasing: Promise<boolean> | null = null

  constructor(reader: Handle, raise: Raise, token: bigint) {
    super(reader)
    this.#raise = raise
    this.token = token
  }

  get signal(): AbortSignal {
    return this.reader.signal
  }

  get state(): HoldState {
    if (this.#releasing !== null) return 'released'
    const { state } = this.reader
    return state === 'released' ? 'lost' : state
  }

  get live(): boolean {
    return this.state === 'held' || this.state === 'at-risk'
  }

  get remainingMs(): number {
    return this.live ? this.reader.remainingMs : 0
  }

  get credential(): Credential {
    return { ...this.reader.credential, mode: 'exclusive', token: this.token, alone: false }
  }

  assertHeld(): void {
    if (this.#releasing !== null) {
      throw new NotHeldError(`lock ${JSON.stringify(this.name)}: this hold was released`, { line: this.name })
    }
    try {
      this.reader.assertHeld()
    } catch (error) {
      if (!(error instanceof NotHeldError)) throw error
      throw new LockLostError(`lock ${JSON.stringify(this.name)}: the read lock under this write lock was released`, {
        line: this.name,
        cause: error,
      })
    }
  }

  release(): Promise<boolean> {
    this.#releasing ??= this.#release(this.live)
    return this.#releasing
  }

  async #release(isHeld: boolean): Promise<boolean> {
    if (isHeld) await this.#raise.end()
    return isHeld
  }
}
