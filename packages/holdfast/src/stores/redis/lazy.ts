/** A transport that must be made first: every call waits for it, and a failed attempt is made again by the next. */
import type { Confirmed, Transport, ReplicaWait } from './transport.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import type { Script } from '../../clients/redis/script.ts'

export class LazyTransport implements Transport {
  readonly where: string
  readonly keyPrefix = ''
  readonly joins: boolean
  onGap: () => void = () => undefined
  readonly #make: () => Promise<Transport>
  #made: Promise<Transport> | null = null
  #ready: Transport | null = null
  #closed = false

  constructor(where: string, joins: boolean, make: () => Promise<Transport>) {
    this.where = where
    this.joins = joins
    this.#make = make
  }

  async open(): Promise<void> {
    await (await this.#inner()).open()
  }

  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return (await this.#inner()).run(script, keys, args)
  }

  async runAndWait(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    wait: ReplicaWait,
  ): Promise<Confirmed> {
    return (await this.#inner()).runAndWait(script, keys, args, wait)
  }

  async askAll(args: readonly Argument[]): Promise<readonly unknown[]> {
    return (await this.#inner()).askAll(args)
  }

  async *scan(pattern: string): AsyncGenerator<readonly string[]> {
    yield* (await this.#inner()).scan(pattern)
  }

  async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    await (await this.#inner()).subscribe(channel, onMessage)
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#ready?.unsubscribe(channel)
  }

  reconnect(): void {
    this.#ready?.reconnect()
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#ready?.close()
  }

  #inner(): Promise<Transport> {
    this.#made ??= this.#begin()
    return this.#made
  }

  async #begin(): Promise<Transport> {
    try {
      const transport = await this.#make()
      transport.onGap = () => this.onGap()
      try {
        await transport.open()
      } catch (error) {
        await transport.close()
        throw error
      }
      this.#ready = transport
      if (this.#closed) await transport.close()
      return transport
    } catch (error) {
      this.#made = null
      throw error
    }
  }
}
