/** A voter's server over our own connection, which tells of every reconnect, or over a client of the user. */
import { Connection } from '../../clients/redis/connection.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import type { ConnectionOptions } from '../../clients/redis/options.ts'
import { scanStrings } from '../../clients/redis/scan.ts'
import { SCRIPTS } from './scripts.ts'
import type { Step, Wire, WireEvents } from './wire.ts'
import type { Transport } from '../redis/transport.ts'

/** A server that comes back is asked again soon: others wait for its vote. */
const BACKOFF_MS_MAX = 500

export class OwnWire implements Wire {
  readonly where: string
  readonly keyPrefix = ''
  readonly tells = true
  readonly #connection: Connection
  #events: WireEvents | null = null

  constructor(
    target: ConnectionOptions,
    limits: { readonly connectTimeoutMs: number; readonly commandTimeoutMs: number },
  ) {
    this.where = `${target.host ?? '127.0.0.1'}:${target.port ?? 6379}`
    this.#connection = new Connection({
      ...target,
      connectTimeoutMs: limits.connectTimeoutMs,
      commandTimeoutMs: limits.commandTimeoutMs,
      backoffMaxMs: BACKOFF_MS_MAX,
      clientName: 'holdfast-redlock',
      // What was meant for one run of a server must never reach the next: nothing waits for a reconnect.
      offline: 'fail',
      queueLimit: 1_000_000,
      events: {
        onReady: () => this.#events?.onUp(),
        onDown: (error) => this.#events?.onDown(error),
        onResubscribed: () => this.#events?.onGap(),
      },
    })
  }

  open(events: WireEvents): void {
    this.#events = events
    // Whoever needs it is told by the events; the connection goes on trying by itself.
    this.#connection.connect().catch((error: unknown) => {
      if (!this.#connection.ready) events.onDown(error instanceof Error ? error : new Error(String(error)))
    })
  }

  run(step: Step, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return this.#connection.run(SCRIPTS[step], keys, args)
  }

  scan(pattern: string): AsyncIterable<readonly string[]> {
    return scanStrings((args) => this.#connection.command(args), pattern)
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    return this.#connection.subscribe(channel, onMessage)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#connection.unsubscribe(channel)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

const RETRY_MS = 500

/** Over a client that the user has already: its reconnects are not seen, so every script asks for the run. */
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
