/**
 * What a process hears from Redis: its own places that were granted or broken, and changes of the lines it observes.
 */
import { diagnostics } from '../../contract/events.ts'
import type { Stop, Wake } from '../../contract/driver.ts'
import type { Keys } from './keys.ts'
import type { Transport } from './transport.ts'

/** How long the server publishes a line's changes for an observer, and how often an observer asks for it again. */
const OBSERVE_MS = 30_000
const OBSERVE_AGAIN_MS = 10_000

interface Observed {
  readonly wakes: Set<Wake>
  readonly ready: Promise<void>
  timer: NodeJS.Timeout | null
}

export class Wakeups {
  /** Names this process to the scripts: 12 characters. */
  readonly id: string
  readonly #transport: Transport
  readonly #keys: Keys
  /** Asks the server to publish a line's changes for so long. */
  readonly #ask: (line: string, ms: number) => Promise<unknown>
  readonly #places = new Map<string, Wake>()
  readonly #lines = new Map<string, Observed>()
  #listening: Promise<void> | null = null
  #confirmed = false

  constructor(transport: Transport, keys: Keys, id: string, ask: (line: string, ms: number) => Promise<unknown>) {
    this.#transport = transport
    this.#keys = keys
    this.id = id
    this.#ask = ask
    transport.onGap = () => this.#wakeAll()
  }

  /** At once, except for the first: the subscription must stand before any place waits. */
  watch(id: string, wake: Wake): Stop | Promise<Stop> {
    if (this.#confirmed) return this.#add(id, wake)
    return this.#listen().then(() => this.#add(id, wake))
  }

  async observe(line: string, wake: Wake): Promise<Stop> {
    const observed = this.#lines.get(line) ?? this.#begin(line)
    observed.wakes.add(wake)
    const stop = (): void => {
      observed.wakes.delete(wake)
      if (observed.wakes.size === 0) this.#end(line, observed)
    }
    try {
      await observed.ready
    } catch (error) {
      stop()
      throw error
    }
    return stop
  }

  close(): void {
    for (const [line, observed] of this.#lines) this.#end(line, observed)
    this.#places.clear()
  }

  #add(id: string, wake: Wake): Stop {
    this.#places.set(id, wake)
    // Bound: a closure for each hold weighs twice as much.
    return this.#forget.bind(this, id)
  }

  #forget(id: string): void {
    this.#places.delete(id)
  }

  /** One subscription for all who ask meanwhile; when it fails they are told, and the next watch tries again. */
  #listen(): Promise<void> {
    this.#listening ??= this.#subscribe()
    return this.#listening
  }

  async #subscribe(): Promise<void> {
    try {
      const channel = this.#transport.keyPrefix + this.#keys.inbox(this.id)
      await this.#transport.subscribe(channel, (message) => this.#heard(message))
      this.#confirmed = true
    } finally {
      if (!this.#confirmed) this.#listening = null
    }
  }

  /**
   * `id token` for a place that is granted now, `id` alone for one that something else happened to; several by commas.
   */
  #heard(message: string): void {
    for (const item of message.split(',')) {
      const [id = '', token = ''] = item.split(' ')
      const wake = this.#places.get(id)
      // Whoever may publish may write anything here: what is no token is no grant, and a reason to look.
      if (/^\d{1,16}$/.test(token)) wake?.({ id, token: BigInt(token) })
      else wake?.()
    }
  }

  /** The connection was gone for a while: whatever was said then was not heard. */
  #wakeAll(): void {
    for (const wake of [...this.#places.values()]) wake()
    for (const { wakes } of this.#lines.values()) for (const wake of [...wakes]) wake()
  }

  #begin(line: string): Observed {
    const wakes = new Set<Wake>()
    const observed: Observed = { wakes, ready: this.#subscribeTo(line, wakes), timer: null }
    this.#lines.set(line, observed)
    return observed
  }

  async #subscribeTo(line: string, wakes: ReadonlySet<Wake>): Promise<void> {
    await this.#transport.subscribe(this.#channelOf(line), () => {
      for (const wake of [...wakes]) wake()
    })
    await this.#ask(line, OBSERVE_MS)
    this.#askLater(line)
  }

  #askLater(line: string): void {
    const observed = this.#lines.get(line)
    if (observed === undefined) return
    observed.timer = setTimeout(() => void this.#askAgain(line), OBSERVE_AGAIN_MS)
    observed.timer.unref()
  }

  async #askAgain(line: string): Promise<void> {
    try {
      await this.#ask(line, OBSERVE_MS)
    } catch (error) {
      // It is asked again in its turn: until then the observer may hear nothing, and that is allowed.
      diagnostics.failed(line, error)
    }
    this.#askLater(line)
  }

  #end(line: string, observed: Observed): void {
    if (this.#lines.get(line) !== observed) return
    this.#lines.delete(line)
    if (observed.timer !== null) clearTimeout(observed.timer)
    // Nobody listens any more, whether the server hears of it or not.
    this.#transport.unsubscribe(this.#channelOf(line)).catch((error: unknown) => diagnostics.failed(line, error))
  }

  #channelOf(line: string): string {
    return this.#transport.keyPrefix + this.#keys.observers(line)
  }
}
