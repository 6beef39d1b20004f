/** What all locks of one instance share: the store, the keeper of its places, and the queues of its callers. */
import type { Driver } from '../driver.ts'
import { ClosedError } from './errors.ts'
import type { Handle } from './handle.ts'
import { Keeper, type Voucher } from './keeper.ts'
import type { Lease } from './lease.ts'
import { Owners } from './owners.ts'
import { LocalQueue } from './queue.ts'
import { Reaper } from './reaper.ts'
import type { Runtime } from './runtime.ts'
import type { Spec } from './spec.ts'
import type { Waiter } from './waiter.ts'
import { Waits } from './waits.ts'

const IDLE_QUEUES_MAX = 1_024

export class Core {
  readonly driver: Driver
  readonly runtime: Runtime
  readonly keeper: Keeper
  readonly reaper: Reaper
  readonly owners: Owners = new Owners()
  readonly waits: Waits = new Waits()
  readonly connectTimeoutMs: number
  /** The queues that may be shared, by key and name. */
  readonly #shared = new Map<string, Map<string, LocalQueue>>()
  /** The queues of one caller each. */
  readonly #alone = new Set<LocalQueue>()
  #idle = 0
  #closing: Promise<void> | null = null

  constructor(driver: Driver, runtime: Runtime, connectTimeoutMs: number, voucher: Voucher | null = null) {
    this.driver = driver
    this.runtime = runtime
    this.connectTimeoutMs = connectTimeoutMs
    this.keeper = new Keeper(runtime, (entries) => driver.touch(entries), voucher)
    this.reaper = new Reaper(driver, runtime)
  }

  /** Puts a caller in line. */
  apply(waiter: Waiter): void {
    if (this.#closing !== null) {
      waiter.reject(this.closedError())
      return
    }
    const { spec } = waiter
    const queue = spec.shareKey === null ? this.#own(spec) : this.#sharedQueue(spec, spec.shareKey)
    queue.add(waiter)
  }

  #own(spec: Spec): LocalQueue {
    const queue = new LocalQueue(this, spec)
    this.#alone.add(queue)
    return queue
  }

  #sharedQueue(spec: Spec, key: string): LocalQueue {
    let queues = this.#shared.get(key)
    if (queues === undefined) {
      queues = new Map()
      this.#shared.set(key, queues)
    }
    let queue = queues.get(spec.name)
    if (queue === undefined) {
      queue = new LocalQueue(this, spec)
      queues.set(spec.name, queue)
    } else if (queue.isIdle) {
      this.#idle--
    }
    return queue
  }

  /** Makes a hold of a granted place that no queue of ours has asked for. Its spec shares no place. */
  admit(lease: Lease, spec: Spec, counter: number, owner: object | symbol | null): Handle {
    this.keeper.add(lease)
    this.keeper.hold(lease, spec.settings.renew)
    return this.#own(spec).admit(lease, counter, owner)
  }

  /** A queue has neither callers nor a hold. A shared one is kept for a while: most lines are used again soon. */
  rest(queue: LocalQueue): void {
    if (this.#alone.delete(queue)) return
    if (++this.#idle <= IDLE_QUEUES_MAX) return
    this.#idle = 0
    for (const [key, queues] of this.#shared) {
      for (const [name, other] of queues) if (other.isIdle) queues.delete(name)
      if (queues.size === 0) this.#shared.delete(key)
    }
  }

  get isClosing(): boolean {
    return this.#closing !== null
  }

  assertOpen(): void {
    if (this.isClosing) throw this.closedError()
  }

  closedError(): ClosedError {
    return new ClosedError('this Holdfast instance was closed; make a new one with holdfast()')
  }

  /** Rejects who waits, gives back what is held, and lets the driver go. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const error = this.closedError()
    // Settles only after #closing is set: what a rejected caller does next finds the instance closed.
    await Promise.resolve()
    const queues = [...this.#alone, ...[...this.#shared.values()].flatMap((shared) => [...shared.values()])]
    const leaving = queues.map((queue) => queue.close(error))
    this.#alone.clear()
    this.#shared.clear()
    await Promise.all(leaving)
    await this.reaper.close()
    this.keeper.close()
    await this.driver.close()
  }
}
