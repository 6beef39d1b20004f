/** A watch observer that keeps what it is told, and lets a test wait for it. */
import type { WatchEvent, WatchObserver } from '../../../src/clients/etcd/index.ts'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString()

export class Recorder implements WatchObserver {
  readonly events: WatchEvent[] = []
  readonly #waiting: { until: () => boolean; resolve: () => void }[] = []
  ended: Error | undefined

  onEvents(events: readonly WatchEvent[]): void {
    for (const event of events) this.events.push(event)
    this.#check()
  }

  onEnd(error: Error): void {
    this.ended = error
    this.#check()
  }

  /** Type, key and value of every event. */
  get told(): string[] {
    return this.events.map(({ type, kv }) => `${type} ${text(kv.key)}=${text(kv.value)}`)
  }

  /** Fulfilled once so many events have been told. */
  count(count: number): Promise<void> {
    return this.until(() => this.events.length >= count)
  }

  /** Fulfilled once the watch has ended. */
  async end(): Promise<Error> {
    await this.until(() => this.ended !== undefined)
    return this.ended as Error
  }

  until(condition: () => boolean): Promise<void> {
    if (condition()) return Promise.resolve()
    return new Promise((resolve) => void this.#waiting.push({ until: condition, resolve }))
  }

  #check(): void {
    for (const waiter of this.#waiting) if (waiter.until()) waiter.resolve()
  }
}
