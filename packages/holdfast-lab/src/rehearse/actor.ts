/**
 * One of the two holders of a rehearsal: a simulated process with a clock of its own.
 *
 * A pause is a step of its clock: the code goes on at once, with a clock that shows the time after the pause. Whatever
 * the code sends then leaves when the world has come to that time, and whatever was due for it meanwhile waits until
 * then. For the code this is the same as a process that was stopped at that very instruction. So it can be stopped
 * anywhere, even between two microtasks, and no code has to be rewritten.
 */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import type { Entry, Runtime } from 'holdfast'
import type { World } from '../simulated/world.ts'

/** The running actor: of code that an actor calls, and of all that follows from that code. */
const running = new AsyncLocalStorage<Actor | null>()

/** The actor whose code runs now; null outside of a rehearsal. */
export function currentActor(): Actor | null {
  return running.getStore() ?? null
}

/** Runs code that belongs to no actor: what the resource does when it is called. */
export function asNobody<T>(fn: () => T): T {
  return running.run(null, fn)
}

/** A place of an actor, as its driver saw it. */
export interface Grant {
  readonly entry: Entry
  readonly token: bigint
  readonly fromMs: number
  /** When its lease began anew. */
  renewedMs: number
  /** When the actor gave it up. */
  leftMs: number | null
}

export interface Pause {
  readonly fromMs: number
  readonly toMs: number
}

/** What people's clocks show when a rehearsal begins: the 14th of November 2023. */
const WALL_MS = 1_700_000_000_000

export class Actor {
  readonly name: string
  readonly runtime: Runtime
  readonly world: World
  /** By the id of their entry. */
  readonly grants: Map<string, Grant> = new Map()
  pause: Pause | null = null
  #resumesAt = 0
  #ids = 0

  constructor(name: string, world: World, pid: number) {
    this.name = name
    this.world = world
    let chance = pid
    this.runtime = {
      now: () => this.now(),
      wallNow: () => this.wallNow(),
      after: (ms, fn) => this.after(ms, fn),
      randomId: () => `${pid}${String(++this.#ids).padStart(31, '0')}`,
      random: () => {
        chance = (Math.imul(chance, 1_103_515_245) + 12_345) >>> 0
        return chance / 2 ** 32
      },
      host: 'rehearsal',
      pid,
    }
  }

  now(): number {
    return Math.max(this.world.now, this.#resumesAt)
  }

  wallNow(): number {
    return WALL_MS + this.now()
  }

  run<T>(fn: () => T): T {
    return running.run(this, fn)
  }

  /** The process stands still from now on, for so long. */
  stop(ms: number): void {
    const fromMs = this.now()
    this.#resumesAt = fromMs + ms
    this.pause = { fromMs, toMs: this.#resumesAt }
  }

  /** Something reaches this process: at that time, or when the process runs again. Call the result to cancel. */
  at(timeMs: number, fn: () => void): () => void {
    let isOff = false
    const arrive = (): void => {
      if (isOff) return
      if (this.world.now < this.#resumesAt) this.world.at(this.#resumesAt, arrive)
      else fn()
    }
    this.world.at(timeMs, arrive)
    return () => {
      isOff = true
    }
  }

  /** As in Node: whole milliseconds, at least one, and in the context of the caller. */
  after(ms: number, fn: () => void): () => void {
    return this.at(this.now() + Math.max(1, Math.ceil(ms)), AsyncResource.bind(fn))
  }

  /** Sends a request, has it done there, and returns the answer: each way takes a millisecond. */
  ask<T>(act: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const back = (settle: () => void): void => void this.at(this.world.now + LATENCY_MS, settle)
      this.world.at(this.now() + LATENCY_MS, () => {
        const done = asNobody(async () => act())
        done.then(
          (answer) => back(() => resolve(answer)),
          (error: unknown) => back(() => reject(error)),
        )
      })
    })
  }

  granted(entry: Entry, token: bigint): void {
    const known = this.grants.get(entry.id)
    if (known === undefined) {
      const fromMs = this.world.now
      this.grants.set(entry.id, { entry, token, fromMs, renewedMs: fromMs, leftMs: null })
    } else {
      known.renewedMs = this.world.now
    }
  }

  left(entry: Entry): void {
    const grant = this.grants.get(entry.id)
    if (grant !== undefined) grant.leftMs ??= this.now()
  }

  /** How long a lease of its own can outlive a pause that begins now. */
  get leaseMs(): number {
    return Math.max(0, ...[...this.grants.values()].map(({ entry }) => entry.ttlMs))
  }
}

/** How long a message takes one way. */
export const LATENCY_MS = 1
