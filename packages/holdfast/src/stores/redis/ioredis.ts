/** A Redis behind ioredis: the user's own client, or one of ours for Sentinel and Cluster. */
import { once } from 'node:events'
import { UnsupportedError } from '../../core/errors.ts'
import { replyOf } from './faults.ts'
import { Patience, within } from './limit.ts'
import type { Settings } from './options.ts'
import type { Confirmed, Transport, Wait } from './transport.ts'
import { type Corkable, Turn } from './turn.ts'
import type { Argument } from './wire/encode.ts'
import { scanStrings } from './wire/scan.ts'
import type { Script } from './wire/script.ts'

/** The members of an ioredis client (6 or newer) that are called; a Cluster has them, too. */
export interface IoredisClient {
  readonly status: string
  readonly isCluster?: boolean
  readonly options: {
    readonly keyPrefix?: string | undefined
    readonly host?: string | undefined
    readonly port?: number | undefined
  }
  call(command: string, ...args: (string | Buffer | number)[]): Promise<unknown>
  duplicate(override?: object): IoredisClient
  connect(): Promise<void>
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  disconnect(reconnect?: boolean): void
  /** Of a Cluster: its primaries. */
  nodes?(role: 'master'): IoredisClient[]
  /** The socket, while there is one. */
  readonly stream?: ({ unref?(): unknown } & Corkable) | null
}

export class IoredisTransport implements Transport {
  readonly where: string
  readonly keyPrefix: string
  readonly joins: boolean
  onGap: () => void = () => undefined
  readonly #client: IoredisClient
  readonly #isOurs: boolean
  readonly #patience: Patience
  readonly #turn = new Turn()
  readonly #connectTimeoutMs: number
  readonly #listeners = new Map<string, (message: string) => void>()
  /** A cluster picks among its primaries by itself. */
  readonly #sockets = (): Corkable[] => this.#primaries().flatMap(({ stream }) => stream ?? [])
  #subscriber: Promise<IoredisClient> | null = null
  #listening: IoredisClient | null = null
  #closed = false

  constructor(client: IoredisClient, settings: Settings, ours?: { readonly where: string }) {
    this.#client = client
    this.#isOurs = ours !== undefined
    this.#connectTimeoutMs = settings.connectTimeoutMs
    this.keyPrefix = client.options.keyPrefix ?? ''
    this.joins = client.isCluster !== true
    const { host, port } = client.options
    this.where = ours?.where ?? (host === undefined ? 'the given client' : `${host}:${port ?? 6379}`)
    this.#patience = new Patience(settings.commandTimeoutMs, this.where)
    // A client of ours reconnects by itself, and those who wait for an answer are told; without a listener it would be printed.
    if (this.#isOurs) {
      client.on('error', () => undefined)
      letEnd(client)
    }
  }

  async open(): Promise<void> {
    await within(whenReady(this.#client), this.#connectTimeoutMs, this.where)
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    const client = this.#client
    if (client.status === 'ready') this.#turn.join(this.#sockets)
    return this.#patience.limit(client.call('evalsha', script.sha1, keys.length, ...keys, ...args), (error) =>
      isNoScript(error) ? client.call('eval', script.lua, keys.length, ...keys, ...args) : null,
    )
  }

  async runAndWait(script: Script, keys: readonly string[], args: readonly Argument[], wait: Wait): Promise<Confirmed> {
    if (!this.joins) throw new UnsupportedError('replicas: WAIT can not be sent to the right node of a cluster')
    try {
      return await this.#andWait('evalsha', [script.sha1, keys.length, ...keys, ...args], wait)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.#andWait('eval', [script.lua, keys.length, ...keys, ...args], wait)
    }
  }

  command(args: readonly Argument[]): Promise<unknown> {
    const [name, ...rest] = args
    return this.#limited((this.#primaries()[0] ?? this.#client).call(String(name), ...rest))
  }

  async *scan(pattern: string): AsyncGenerator<readonly string[]> {
    for (const node of this.#primaries()) {
      yield* scanStrings(([name, ...rest]) => this.#limited(node.call(String(name), ...rest)), pattern)
    }
  }

  async subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    this.#listeners.set(channel, onMessage)
    try {
      this.#subscriber ??= this.#listen()
      const subscriber = await within(this.#subscriber, this.#connectTimeoutMs, this.where)
      await this.#limited(subscriber.subscribe(channel))
    } catch (error) {
      this.#listeners.delete(channel)
      throw error
    }
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#listeners.delete(channel)
    const subscriber = this.#listening
    if (subscriber !== null && !this.#closed) await this.#limited(subscriber.unsubscribe(channel))
  }

  reconnect(): void {
    // A client that was given is its owner's; Sentinel and Cluster ask for the new primary by themselves.
    if (this.#isOurs && this.joins) this.#client.disconnect(true)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#isOurs) this.#client.disconnect()
    const subscriber = this.#listening
    subscriber?.disconnect()
  }

  /** A connection of our own beside the client: a client that listens may not be able to ask. */
  async #listen(): Promise<IoredisClient> {
    // ioredis subscribes anew without looking at the outcome: closed in that moment, it leaves a rejection that nobody handles.
    const subscriber = this.joins ? this.#client.duplicate({ autoResubscribe: false }) : this.#client.duplicate()
    subscriber.on('error', () => undefined)
    letEnd(subscriber)
    subscriber.on('message', (channel, message) => this.#listeners.get(String(channel))?.(String(message)))
    let isFirst = true
    subscriber.on('ready', () => {
      if (!isFirst) void this.#relisten(subscriber)
      isFirst = false
    })
    try {
      // Subscribed between "connect" and "ready", ioredis drops the connection once more, and a message in between is lost.
      await within(whenReady(subscriber), this.#connectTimeoutMs, this.where)
    } catch (error) {
      subscriber.disconnect()
      this.#subscriber = null
      throw error
    }
    this.#listening = subscriber
    if (this.#closed) subscriber.disconnect()
    return subscriber
  }

  /** Where ioredis subscribes anew by itself, on a cluster, it does not say when that is confirmed. */
  async #relisten(subscriber: IoredisClient): Promise<void> {
    try {
      if (this.#listeners.size > 0) await subscriber.subscribe(...this.#listeners.keys())
    } catch (error) {
      // The connection is gone again: the next "ready" comes here, too.
      if (replyOf(error) !== null) this.#listeners.clear()
    }
    this.onGap()
  }

  #primaries(): readonly IoredisClient[] {
    return this.#client.nodes?.('master') ?? [this.#client]
  }

  #limited<T>(promise: Promise<T>): Promise<T> {
    return this.#patience.limit(promise)
  }

  /** Given in one turn they leave on one connection, one behind the other: WAIT speaks of its own connection's writes. */
  async #andWait(command: string, args: readonly Argument[], wait: Wait): Promise<Confirmed> {
    const both = [this.#client.call(command, ...args), this.#client.call('WAIT', wait.replicas, wait.timeoutMs)]
    const [reply, waited] = await this.#limited(Promise.allSettled(both))
    if (reply?.status === 'rejected') throw reply.reason
    if (waited?.status === 'rejected') throw waited.reason
    return { reply: reply?.value, replicas: Number(waited?.value) }
  }
}

async function whenReady(client: IoredisClient): Promise<void> {
  if (client.status === 'wait') await client.connect()
  else if (client.status !== 'ready') await once(client as unknown as NodeJS.EventEmitter, 'ready')
}

/** A connection that nobody waits for lets the process end; who waits for an answer has a timer. */
function letEnd(client: IoredisClient): void {
  client.stream?.unref?.()
  client.on('connect', () => client.stream?.unref?.())
  if (client.isCluster !== true) return
  client.on('+node', (node) => letEnd(node as IoredisClient))
  // The connection that a cluster listens with is none of its nodes, and can only be reached like this.
  const { subscriber } = client as { subscriber?: { getInstance?(): IoredisClient | null } }
  let known: IoredisClient | null = null
  const letListenerEnd = (): void => {
    const listener = subscriber?.getInstance?.() ?? null
    if (listener === null || listener === known) return
    known = listener
    letEnd(listener)
  }
  client.on('ready', letListenerEnd)
  client.on('+node', () => setImmediate(letListenerEnd))
  client.on('-node', () => setImmediate(letListenerEnd))
}

function isNoScript(error: unknown): boolean {
  return replyOf(error)?.startsWith('NOSCRIPT') ?? false
}
