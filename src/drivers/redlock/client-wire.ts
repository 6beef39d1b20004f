/** A voter's server over a client that the user has already: its reconnects are not seen, so every script asks for the run. */
import type { Transport } from '../redis/transport.ts'
import type { Argument } from '../redis/wire/encode.ts'
import { SCRIPTS } from './steps.ts'
import type { Step, Wire, WireEvents } from './wire.ts'

const RETRY_MS = 500

export class ClientWire implements Wire {
  readonly where: string
  readonly keyPrefix: string
  readonly tells = false
  readonly #transport: Transport
  #retry: NodeJS.Timeout | null = null
  #closed = false

  constructor(transport: Transport) {
    this.#transport = transport
    this.where = transport.where
    this.keyPrefix = transport.keyPrefix
  }

  open(events: WireEvents): void {
    this.#transport.onGap = () => events.onGap()
    this.#transport.open().then(
      () => events.onUp(),
      (error: unknown) => {
        events.onDown(error instanceof Error ? error : new Error(String(error)))
        if (this.#closed) return
        this.#retry = setTimeout(() => this.open(events), RETRY_MS)
        this.#retry.unref()
      },
    )
  }

  run(step: Step, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#transport.run(SCRIPTS[step], keys, args)
  }

  scan(pattern: string): AsyncIterable<readonly string[]> {
    return this.#transport.scan(pattern)
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    return this.#transport.subscribe(channel, onMessage)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#transport.unsubscribe(channel)
  }

  close(): Promise<void> {
    this.#closed = true
    if (this.#retry !== null) clearTimeout(this.#retry)
    return this.#transport.close()
  }
}
