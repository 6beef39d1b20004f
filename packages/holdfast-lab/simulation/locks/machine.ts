/** A simulated client machine: clocks of its own, and the ways in which it can fail. */
import type { Runtime } from '../../../holdfast/src/contract/runtime.ts'
import type { Rng } from './rng.ts'
import type { World } from '../../src/simulated/world.ts'

export class Machine {
  readonly name: string
  readonly runtime: Runtime
  readonly #world: World
  /** How fast its clocks run; real ones differ by less than half a percent. */
  readonly #rate: number
  #monoLost = 0
  #wallShift: number
  #frozenAt: number | null = null
  #isSuspended = false
  #hasSlept = false
  #wasSetBack = false
  #waiting: (() => void)[] = []
  crashed = false
  /** While it catches up with what was due, timers may come after other things. */
  thawedAt = -1
  /** When this machine, or a message of its, last met a fault, and how often lately. */
  readonly troubles: number[] = []

  constructor(name: string, world: World, rng: Rng) {
    this.name = name
    this.#world = world
    this.#rate = rng.between(0.996, 1.004)
    this.#wallShift = 1_700_000_000_000 + rng.between(-1e7, 1e7)
    this.runtime = {
      now: () => this.mono(),
      wallNow: () => this.wall(),
      after: (ms, fn) => this.#after(ms, fn),
      randomId: () => rng.hex(32),
      random: () => rng.next(),
      host: name,
      pid: 1,
    }
  }

  /** A stopped process keeps its monotonic clock, a suspended machine does not. */
  mono(): number {
    const end = this.#isSuspended && this.#frozenAt !== null ? this.#frozenAt : this.#world.now
    return (end - this.#monoLost) * this.#rate + 1_000
  }

  wall(): number {
    return this.#world.now * this.#rate + this.#wallShift
  }

  get isFrozen(): boolean {
    return this.#frozenAt !== null
  }

  /** Does it now, or when the machine runs again; a crashed one never does. */
  act(fn: () => void): void {
    if (this.crashed) return
    if (this.#frozenAt === null) fn()
    else this.#waiting.push(fn)
  }

  freeze(suspended: boolean): void {
    if (this.crashed || this.#frozenAt !== null) return
    this.#frozenAt = this.#world.now
    this.#isSuspended = suspended && !this.#wasSetBack
    this.#hasSlept ||= suspended
    this.troubled()
  }

  thaw(): void {
    if (this.#frozenAt === null) return
    if (this.#isSuspended) this.#monoLost += this.#world.now - this.#frozenAt
    this.#frozenAt = null
    this.#isSuspended = false
    this.thawedAt = this.#world.now
    this.troubled(3)
    // What was due in the meantime happens now, one after another: user code may come before any timer of ours.
    for (const fn of this.#waiting.splice(0)) this.#world.at(this.#world.now, () => this.act(fn))
  }

  /** A machine that sleeps *and* has its clock set back is deceived by both: a limit that is stated, not simulated. */
  stepWall(ms: number): void {
    if (ms < 0 && this.#hasSlept) return
    this.#wasSetBack ||= ms < 0
    this.#wallShift += ms
    this.troubled(3)
  }

  /** `times` 1 is a lost message, which must be ridden out; more excuses a loss. */
  troubled(times = 1): void {
    for (let i = 0; i < times; i++) this.troubles.push(this.#world.now)
  }

  #after(ms: number, fn: () => void): () => void {
    let cancelled = false
    const call = (): void => {
      if (!cancelled) fn()
    }
    // As in Node: whole milliseconds, and at least one.
    this.#world.at(this.#world.now + Math.max(1, Math.ceil(ms)) / this.#rate, () => this.act(call))
    return () => {
      cancelled = true
    }
  }
}
