/** A Redis behind the user's own @redis/client (node-redis). */
import { replyOf } from './faults.ts'
import { Patience, within } from './limit.ts'
import type { Settings } from './options.ts'
import type { Confirmed, Transport, Wait } from './transport.ts'
import type { Argument } from './wire/encode.ts'
import { scanStrings } from './wire/scan.ts'
import type { Script } from './wire/script.ts'

/** The members of a client of @redis/client (6 or newer) that are called. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  sendCommand(args: readonly (string | Buffer)[], options?: object): Promise<unknown>
  duplicate(): NodeRedisClient
  connect(): Promise<unknown>
  destroy(): void
  /** Lets the process end while it is connected. */
  unref(): void
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
}

/** Replies as they are, whatever types the user has set for his own. */
const PLAIN = { typeMapping: {} }

export class NodeRedisTransport implements Transport {
  readonly where = 'the given client'
  readonly keyPrefix = ''
  readonly joins = true
  onGap: () => void = () => undefined
  readonly #client: NodeRedisClient
  readonly #patience: Patience
  readonly #connectTimeoutMs: number
  #subscriber: Promise<NodeRedisClient> | null = null
  #listening: NodeRedisClient | null = null
  #closed = false

  constructor(client: NodeRedisClient, settings: Settings) {
    this.#client = client
    this.#patience = new Patience(settings.commandTimeoutMs, this.where)
    this.#connectTimeoutMs = settings.connectTimeoutMs
  }

  async open(): Promise<void> {
    await this.command(['PING'])
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(asText)]
    return this.#patience.limit(this.#client.sendCommand(['EVALSHA', script.sha1, ...rest], PLAIN), (error) =>
      isNoScript(error) ? this.#client.sendCommand(['EVAL', script.lua, ...rest], PLAIN) : null,
    )
  }

  async runAndWait(script: Script, keys: readonly string[], args: readonly Argument[], wait: Wait): Promise<Confirmed> {
    try {
      return await this.#andWait(['EVALSHA', script.sha1, keys.length, ...keys, ...args], wait)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.#andWait(['EVAL', script.lua, keys.length, ...keys, ...args], wait)
    }
  }

  command(args: readonly Argument[]): Promise<unknown> {
    return this.#patience.limit(this.#client.sendCommand(args.map(asText), PLAIN))
  }

  scan(pattern: string): AsyncIterable<readonly string[]> {
    return scanStrings((args) => this.command(args), pattern)
  }

  async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    this.#subscriber ??= this.#listen()
    const subscriber = await this.#subscriber
    await this.#patience.limit(subscriber.subscribe(channel, onMessage))
  }

  async unsubscribe(channel: string): Promise<void> {
    const subscriber = this.#listening
    if (subscriber !== null && !this.#closed) {
      await this.#patience.limit(subscriber.unsubscribe(channel))
    }
  }

  reconnect(): void {
    // The client is its owner's.
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    const subscriber = this.#listening
    if (subscriber?.isOpen === true) subscriber.destroy()
  }

  /** A connection of our own beside the client. It subscribes anew by itself before it is "ready" again. */
  async #listen(): Promise<NodeRedisClient> {
    const subscriber = this.#client.duplicate()
    // Without a listener an 'error' event would end the process.
    subscriber.on('error', () => undefined)
    let isFirst = true
    subscriber.on('ready', () => {
      if (!isFirst) this.onGap()
      isFirst = false
    })
    try {
      await within(subscriber.connect(), this.#connectTimeoutMs, this.where)
    } catch (error) {
      this.#subscriber = null
      if (subscriber.isOpen) subscriber.destroy()
      throw error
    }
    subscriber.unref()
    this.#listening = subscriber
    if (this.#closed) subscriber.destroy()
    return subscriber
  }

  async #andWait(args: readonly Argument[], wait: Wait): Promise<Confirmed> {
    const both = [this.command(args), this.command(['WAIT', wait.replicas, wait.timeoutMs])]
    const [reply, waited] = await Promise.allSettled(both)
    if (reply?.status === 'rejected') throw reply.reason
    if (waited?.status === 'rejected') throw waited.reason
    return { reply: reply?.value, replicas: Number(waited?.value) }
  }
}

function asText(arg: Argument): string | Buffer {
  return typeof arg === 'number' ? String(arg) : arg
}

function isNoScript(error: unknown): boolean {
  return replyOf(error)?.startsWith('NOSCRIPT') ?? false
}
