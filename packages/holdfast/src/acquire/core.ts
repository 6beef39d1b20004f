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

/** How many idle queues are kept, because most locks are used again soon. */
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
  /** The source that every event names. */
  readonly source: EventSource
  /** How many holds are at risk: their last renewal failed, and their lease still runs. */
  atRisk = 0
  /** Set by the first call of close(). */
  isClosing = false
  /** The queues that callers may share, by key and name. */
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

  /** The queue for a caller of this owner: a shared queue, or one of the caller's own. */
  queueOf(spec: Spec, owner: object | symbol | null): Callers {
    // Only the same owner may enter again a hold that was taken in the name of an owner.
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

  /** Looks for idle queues now and then. If each queue reported that it is idle, every release would pay for that. */
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
    // Twice as many as are in use: so the next look is as far away as this look was long.
    this.#listedMax = this.#listed * 2 + IDLE_QUEUES_MAX
  }

  assertOpen(): void {
    if (this.isClosing) throw this.closedError()
  }

  closedError(): ClosedError {
    return new ClosedError('this Holdfast instance was closed; make a new one with holdfast()')
  }

  /** Rejects all waiters, gives back all holds, and closes the driver. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /** Calls `fn` when all holds have been given back, so that whoever reports events hears of that, too. */
  onClosed(fn: () => void): void {
    this.#onClosed.push(fn)
  }

  async #close(): Promise<void> {
    const error = this.closedError()
    this.isClosing = true
    // In a step of its own: a rejected caller that acts at once must find the instance closed.
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
