/** The channels that a connection listens to, whichever link carries them at the moment. */
import { UsageError } from '../../contract/errors.ts'
import { guarded } from './guarded.ts'

export interface Subscription {
  readonly onMessage: (message: string) => void
  /** Whether the server has confirmed it once: from then on it is renewed on every new link. */
  confirmed: boolean
}

export class Subscriptions {
  readonly #byChannel = new Map<string, Subscription>()

  get size(): number {
    return this.#byChannel.size
  }

  add(channel: string, onMessage: (message: string) => void): Subscription {
    // A confirmation is matched by its channel, which comes back as UTF-8.
    if (Buffer.from(channel, 'utf8').toString('utf8') !== channel)
      throw new UsageError('a channel must be well-formed Unicode, but got a lone surrogate')
    if (this.#byChannel.has(channel)) throw new UsageError(`channel ${JSON.stringify(channel)} has a listener already`)
    const subscription = { onMessage, confirmed: false }
    this.#byChannel.set(channel, subscription)
    return subscription
  }

  /** Gives what was removed; with `only`, nothing else is. */
  remove(channel: string, only?: Subscription): Subscription | null {
    const subscription = this.#byChannel.get(channel)
    if (subscription === undefined || (only !== undefined && only !== subscription)) return null
    this.#byChannel.delete(channel)
    return subscription
  }

  *confirmed(): IterableIterator<string> {
    for (const [channel, { confirmed }] of this.#byChannel) if (confirmed) yield channel
  }

  deliver(channel: string, message: string): void {
    const subscription = this.#byChannel.get(channel)
    if (subscription !== undefined) guarded(() => subscription.onMessage(message))
  }
}
