/** A simulated program that takes a lock again and again, for moments or for most of a lease, and acts under it. */
import {
  AcquireTimeoutError,
  LockLostError,
  NotHeldError,
  StoreError,
  StoreUnreachableError,
} from '../../../holdfast/src/contract/errors.ts'
import type { Handle } from '../../../holdfast/src/hold/handle.ts'
import type { Held } from '../../../holdfast/src/hold/held.ts'
import type { Lock } from '../../../holdfast/src/acquire/lock.ts'
import type { LockOptions } from '../../../holdfast/src/contract/options.ts'
import type { Holdfast } from '../../../holdfast/src/holdfast.ts'
import type { Checker, Record as Hold } from '../locks/checker.ts'
import type { Machine } from '../locks/machine.ts'
import type { Rng } from '../locks/rng.ts'

export interface Course {
  readonly line: string
  readonly kind: 'mutex' | 'rw'
  readonly options: LockOptions & { readonly ttlMs: number }
}

const RW = 1_000_000

export class Contender {
  readonly machine: Machine
  /** Rounds that are under way or to come. */
  open: number = 0
  readonly #hf: Holdfast
  readonly #rng: Rng
  /** How many of its acquisitions do not wait. */
  readonly #tries: number
  readonly #checker: Checker
  /** It was not given all servers: when they change it may know too few of them, and is told so. */
  readonly #isShort: boolean

  constructor(machine: Machine, hf: Holdfast, rng: Rng, checker: Checker, isShort = false) {
    this.machine = machine
    this.#hf = hf
    this.#rng = rng
    this.#checker = checker
    this.#isShort = isShort
    this.#tries = rng.pick([0.1, 0.1, 0.6])
  }

  /** Takes the lock so many times, one after another. */
  begin(course: Course, times: number): void {
    this.open++
    this.#loop(course, times).then(
      () => this.open--,
      (error: unknown) => this.#checker.fail(`unexpected error at ${this.machine.name}: ${String(error)}`),
    )
  }

  async #loop(course: Course, times: number): Promise<void> {
    for (let n = 0; n < times && !this.machine.crashed; n++) {
      try {
        await this.#once(course)
      } catch (error) {
        if (!isExpected(error) && !(this.#isShort && isShortage(error))) throw error
      }
      await this.#sleep(this.#rng.between(0, 8))
    }
  }

  async #once({ line, kind, options }: Course): Promise<void> {
    const rng = this.#rng
    const isExclusive = kind === 'mutex' || rng.chance(0.5)
    const lock = this.#lockOf(line, kind, isExclusive, options)
    const capacity = kind === 'mutex' ? 1 : RW
    const held = rng.chance(this.#tries)
      ? await lock.tryAcquire()
      : await lock.acquire(rng.chance(0.15) ? { waitMs: rng.between(1, 200) } : {})
    if (held === null) return
    await this.#work({
      machine: this.machine,
      handle: held as Handle,
      line,
      weight: isExclusive ? capacity : 1,
      capacity,
      isExclusive,
      ttlMs: options.ttlMs,
      isFixed: options.renew === false,
      grantedAt: this.#checker.now,
      token: held.token,
      endedAt: null,
    })
  }

  #lockOf(line: string, kind: Course['kind'], isExclusive: boolean, options: LockOptions): Lock {
    if (kind === 'mutex') return this.#hf.mutex(line, options)
    const { read, write } = this.#hf.rwLock(line, options)
    return isExclusive ? write : read
  }

  async #work(hold: Hold): Promise<void> {
    const held: Held = hold.handle
    const rng = this.#rng
    this.#checker.granted(hold)
    held.signal.addEventListener('abort', () => this.#checker.lost(hold), { once: true })
    // Most for a moment, some for longer than it takes a server to come back and forget.
    const until =
      this.#checker.now + (rng.chance(0.75) ? rng.between(0, 6) : rng.between(0.2, 1) * Math.min(hold.ttlMs, 800))
    try {
      while (this.#checker.now < until) {
        await this.#sleep(rng.between(1, 30))
        held.assertHeld()
        this.#checker.effect(hold)
      }
    } finally {
      this.#checker.released(hold)
      await held.release()
    }
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.machine.runtime.after(ms, resolve, true)
    })
  }
}

function isExpected(error: unknown): boolean {
  return (
    error instanceof AcquireTimeoutError ||
    error instanceof LockLostError ||
    error instanceof NotHeldError ||
    error instanceof StoreUnreachableError
  )
}

function isShortage(error: unknown): boolean {
  return error instanceof StoreError && /give every client all of them/.test(error.message)
}
