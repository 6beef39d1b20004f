/** A voter's server over our own connection, which tells of every reconnect. */
import { Connection } from '../redis/wire/connection.ts'
import type { Argument } from '../redis/wire/encode.ts'
import type { ConnectionOptions } from '../redis/wire/options.ts'
import { scanStrings } from '../redis/wire/scan.ts'
import { SCRIPTS } from './steps.ts'
import type { Step, Wire, WireEvents } from './wire.ts'

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
