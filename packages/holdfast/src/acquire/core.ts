/** What all locks of one instance share: the store, the heartbeat of its places, and the queues of its callers. */
import type { Driver } from '../contract/driver.ts'
import { ClosedError } from '../contract/errors.ts'
import type { EventSource } from '../contract/events.ts'
import type { Handle } from '../hold/handle.ts'
import { Heartbeat, type WorkerHeartbeat } from './heartbeat.ts'
import type { Lease } from './lease.ts'
import { Owners } from '../hold/owners.ts'
import { type Callers, LocalQueue } from './local-queue.ts'
import { ReaderQueue } from './readers.ts'
import { Cleanup } from './cleanup.ts'
import type { Runtime } from '../contract/runtime.ts'
import type { Spec } from './spec.ts'
import { Waits } from '../hold/waits.ts'

/** How many idle queues are kept: most locks are used again soon. */
const IDLE_QUEUES_MAX = 128

let instances = 0

export class Core {
  readonly driver: Driver
  readonly runtime: Runtime
  readonly heartbeat: Heartbeat
  readonly cleanup: Cleanup
  readonly owners: Owners = new Owners()
  readonly waits: Waits = new Waits()
  readonly connectTimeoutMs: number
  /** Who speaks, in every event. */
  readonly source: EventSource
  /** How many holds have a lease whose renewal failed, and which still runs. */
  atRisk = 0
  /** Set with the first call of close(). */
  isClosing = false
  /** The queues that may be shared, by key and name. */
  readonly #shared = new Map<string, Map<string, Callers>>()
  #listed = 0
  #listedMax = IDLE_QUEUES_MAX
  /** The queues of one caller each. */
  readonly #alone = new Set<Callers>()
  #closed: Promise<void> | null = null
  readonly #onClosed: (() => void)[] = []

  constructor(driver: Driver, runtime: Runtime, connectTimeoutMs: number, worker: WorkerHeartbeat | null = null) {
    this.driver = driver
    this.runtime = runtime
    this.connectTimeoutMs = connectTimeoutMs
    this.source = { store: driver.name, instance: ++instances }
    this.heartbeat = new Heartbeat(runtime, (entries) => driver.touch(entries), worker, this.source)
    this.cleanup = new Cleanup(driver, runtime)
  }

  /** The queue for a caller of this owner: one that callers share, or a queue of its own. */
  queueOf(spec: Spec, owner: object | symbol | null): Callers {
    // A hold in the name of an owner is entered again by that owner, and by nobody else.
    if (spec.ask.shareKey === null || (spec.ask.mode === 'shared' && owner !== null)) return this.#ownQueue(spec)
    return this.#sharedQueue(spec, spec.ask.shareKey)
  }

  #ownQueue(spec: Spec): LocalQueue {
    const queue = new LocalQueue(spec)
    this.#alone.add(queue)
    return queue
  }

  #sharedQueue(spec: Spec, key: string): Callers {
    const known = this.#shared.get(key)?.get(spec.name)
    if (known !== undefined) return known
    if (this.#listed >= this.#listedMax) this.#forgetIdle()
    let queues = this.#shared.get(key)
    if (queues === undefined) {
      queues = new Map()
      this.#shared.set(key, queues)
    }
    const queue = spec.ask.mode === 'shared' ? new ReaderQueue(this, spec) : new LocalQueue(spec)
    queue.isListed = true
    queues.set(spec.name, queue)
    this.#listed++
    return queue
  }

  /** Makes a hold of a granted place that no queue of ours has asked for. Its spec shares no place. */
  admit(lease: Lease, spec: Spec, counter: number, owner: object | symbol | null): Handle {
    return this.#ownQueue(spec).admit(lease, counter, owner)
  }

  /** A queue that is not listed has neither callers nor a hold any more. */
  forget(queue: Callers): void {
    this.#alone.delete(queue)
  }

  /** Where each queue would have to say that it is idle, every release would pay for that. */
  #forgetIdle(): void {
    for (const [key, queues] of this.#shared) {
      for (const [name, queue] of queues) {
        if (!queue.isIdle) continue
        queue.isListed = false
        queues.delete(name)
        this.#listed--
      }
      if (queues.size === 0) this.#shared.delete(key)
    }
    // Twice as many as are in use: the next look is as far away as this one was long.
    this.#listedMax = this.#listed * 2 + IDLE_QUEUES_MAX
  }

  assertOpen(): void {
    if (this.isClosing) throw this.closedError()
  }

  closedError(): ClosedError {
    return new ClosedError('this Holdfast instance was closed; make a new one with holdfast()')
  }

  /** Rejects all waiters, gives back what is held, and lets the driver go. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Called when all that was held has been given back: what hears of that must hear it. */
  onClosed(fn: () => void): void {
    this.#onClosed.push(fn)
  }

  async #close(): Promise<void> {
    const error = this.closedError()
    this.isClosing = true
    // Settles in a step of its own: what a rejected caller does next finds the instance closed.
    await Promise.resolve()
    const queues = [...this.#alone, ...[...this.#shared.values()].flatMap((shared) => [...shared.values()])]
    const leaving = queues.map((queue) => queue.close(error))
    this.#alone.clear()
    this.#shared.clear()
    await Promise.all(leaving)
    await this.cleanup.close()
    this.heartbeat.close()
    for (const fn of this.#onClosed) fn()
    await this.driver.close()
  }
}
