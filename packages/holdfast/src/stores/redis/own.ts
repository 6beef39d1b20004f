/** One Redis server over our own connection. */
import type { Settings } from './options.ts'
import type { Confirmed, Transport, ReplicaWait } from './transport.ts'
import { Connection } from '../../clients/redis/connection.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import { ReplyError } from '../../clients/redis/errors.ts'
import type { ConnectionOptions } from '../../clients/redis/options.ts'
import { scanStrings } from '../../clients/redis/scan.ts'
import type { Script } from '../../clients/redis/script.ts'

export class OwnTransport implements Transport {
  readonly where: string
  readonly keyPrefix = ''
  readonly joins = true
  onGap: () => void = () => undefined
  /** The connection's own: nothing is to be added. */
  readonly run: Transport['run']
  readonly #connection: Connection
  readonly #options: ConnectionOptions
  /** Only where the server speaks RESP2: there a connection that listens can't ask. */
  #subscriber: Connection | null = null

  constructor(target: ConnectionOptions, settings: Pick<Settings, 'connectTimeoutMs' | 'commandTimeoutMs'>) {
    this.#options = {
      ...target,
      connectTimeoutMs: settings.connectTimeoutMs,
      commandTimeoutMs: settings.commandTimeoutMs,
      clientName: 'holdfast',
      queueLimit: 1_000_000,
      events: { onResubscribed: () => this.onGap() },
    }
    this.#connection = new Connection(this.#options)
    this.run = this.#connection.run.bind(this.#connection)
    this.where = `${target.host ?? '127.0.0.1'}:${target.port ?? 6379}`
  }

  open(): Promise<void> {
    return this.#connection.connect()
  }

  async runAndWait(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    wait: ReplicaWait,
  ): Promise<Confirmed> {
    const rest = [keys.length, ...keys, ...args]
    try {
      return await this.#andWait(['EVALSHA', script.sha1, ...rest], wait)
    } catch (error) {
      if (!(error instanceof ReplyError) || error.kind !== 'NOSCRIPT') throw error
      return this.#andWait(['EVAL', script.lua, ...rest], wait)
    }
  }

  async askAll(args: readonly Argument[]): Promise<readonly unknown[]> {
    return [await this.#connection.command(args)]
  }

  scan(pattern: string): AsyncIterable<readonly string[]> {
    return scanStrings((args) => this.#connection.command(args), pattern)
  }

  async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    await this.#connection.connect()
    if (this.#connection.protocol === 2) this.#subscriber ??= new Connection({ ...this.#options, protocol: 2 })
    await (this.#subscriber ?? this.#connection).subscribe(channel, onMessage)
  }

  unsubscribe(channel: string): Promise<void> {
    return (this.#subscriber ?? this.#connection).unsubscribe(channel)
  }

  reconnect(): void {
    this.#connection.reconnect('it has become a replica')
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#subscriber?.close()])
  }

  /** Both leave in one write, on one connection: WAIT speaks of the writes of its own connection only. */
  async #andWait(args: readonly Argument[], wait: ReplicaWait): Promise<Confirmed> {
    const both = [this.#connection.command(args), this.#connection.command(['WAIT', wait.replicas, wait.timeoutMs])]
    const [reply, waited] = await Promise.allSettled(both)
    if (reply?.status === 'rejected') throw reply.reason
    if (waited?.status === 'rejected') throw waited.reason
    return { reply: reply?.value, replicas: Number(waited?.value) }
  }
}
