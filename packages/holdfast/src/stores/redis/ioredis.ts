/** A Redis behind ioredis: the user's own client, or one of ours for Sentinel and Cluster. */
import { once } from 'node:events'
import { StoreUnreachableError, UnsupportedError, UsageError } from '../../contract/errors.ts'
import { replyOf } from './errors.ts'
import { CommandDeadlines, within } from './deadline.ts'
import { type SubscriberConnection, type SubscriberEvents, Subscriber } from './subscriber.ts'
import type { Settings } from './options.ts'
import type { Confirmed, Transport, ReplicaWait } from './transport.ts'
import { type Corkable, WriteBatch } from './batch.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import { scanStrings } from '../../clients/redis/scan.ts'
import type { Script } from '../../clients/redis/script.ts'

/** The members of an ioredis client (4, 5 or 6) that are called; a Cluster has them, too. */
export interface IoredisClient {
  readonly status: string
  readonly options: {
    readonly keyPrefix?: string | Buffer | undefined
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly enableAutoPipelining?: boolean | undefined
  }
  call(command: string, ...args: Argument[]): Promise<unknown>
  /** A method that sends this command by itself, whatever `enableAutoPipelining` says. */
  createBuiltinCommand?(command: string): { readonly string: (...args: never[]) => unknown }
  duplicate(override?: object): IoredisClient
  connect(): Promise<void>
  subscribe(...channels: string[]): Promise<unknown>
  unsubscribe(...channels: string[]): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown
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
  readonly #deadlines: CommandDeadlines
  readonly #writes = new WriteBatch()
  readonly #connectTimeoutMs: number
  readonly #subscriber: Subscriber
  /** A cluster picks among its primaries by itself. */
  readonly #sockets = (): Corkable[] => this.#primaries().flatMap(({ stream }) => stream ?? [])
  #closed = false

  constructor(client: IoredisClient, settings: Settings, ours?: { readonly where: string }) {
    this.#client = client
    this.#isOurs = ours !== undefined
    this.#connectTimeoutMs = settings.connectTimeoutMs
    this.keyPrefix = keyPrefixOf(client)
    this.joins = !isCluster(client)
    const { host, port } = client.options
    this.where = ours?.where ?? (host === undefined ? 'the given client' : `${host}:${port ?? 6379}`)
    this.#deadlines = new CommandDeadlines(settings.commandTimeoutMs, this.where)
    this.#subscriber = new Subscriber({
      where: this.where,
      connectTimeoutMs: settings.connectTimeoutMs,
      deadlines: this.#deadlines,
      open: (owner) => this.#listen(owner),
      onGap: () => this.onGap(),
    })
    // A client of ours reconnects by itself, and those who wait for an answer are told; without a listener it would be
    // printed.
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
    if (client.status === 'ready') this.#writes.join(this.#sockets)
    return this.#deadlines.limit(call(client, 'evalsha', [script.sha1, keys.length, ...keys, ...args]), (error) =>
      isNoScript(error) ? call(client, 'eval', [script.lua, keys.length, ...keys, ...args]) : null,
    )
  }

  async runAndWait(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    wait: ReplicaWait,
  ): Promise<Confirmed> {
    if (!this.joins) throw new UnsupportedError('replicas: WAIT can not be sent to the right node of a cluster')
    try {
      return await this.#andWait('evalsha', [script.sha1, keys.length, ...keys, ...args], wait)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.#andWait('eval', [script.lua, keys.length, ...keys, ...args], wait)
    }
  }

  async askAll(args: readonly Argument[]): Promise<readonly unknown[]> {
    const [name, ...rest] = args
    // A cluster knows its primaries once it is ready.
    if (!this.joins) await this.open()
    return this.#limited(Promise.all(this.#primaries().map((node) => call(node, String(name), rest))))
  }

  async *scan(pattern: string): AsyncGenerator<readonly string[]> {
    for (const node of this.#primaries()) {
      yield* scanStrings(([name, ...rest]) => this.#limited(call(node, String(name), rest)), pattern)
    }
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    return this.#subscriber.subscribe(channel, onMessage)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#subscriber.unsubscribe(channel)
  }

  reconnect(): void {
    // A client that was given is its owner's; Sentinel and Cluster ask for the new primary by themselves.
    if (this.#isOurs && this.joins) this.#client.disconnect(true)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#isOurs) end(this.#client)
    this.#subscriber.close()
  }

  /**
   * A connection of our own beside the client: a client that listens may not be able to ask. On a cluster it goes to
   * one of the primaries, which hear of everything: an ioredis Cluster forgets its channels when a node refuses them
   * once.
   */
  async #listen(owner: SubscriberEvents): Promise<SubscriberConnection> {
    const client = this.#client
    if (!this.joins) await whenReady(client)
    const nodes = this.#primaries()
    const node = nodes[Math.floor(Math.random() * nodes.length)]
    if (node === undefined)
      throw new StoreUnreachableError(`Redis at ${this.where}: no node of the cluster is known yet`)
    // Ended once it stays so: the listener makes another, whatever its user's strategy is.
    const subscriber = node.duplicate({ autoResubscribe: false, retryStrategy: () => null, lazyConnect: true })
    subscriber.on('error', () => undefined)
    letEnd(subscriber)
    const connection: SubscriberConnection = {
      subscribe: (channel) => subscriber.subscribe(channel),
      unsubscribe: (channel) => subscriber.unsubscribe(channel),
      end: () => end(subscriber),
    }
    const { host, port } = node.options
    // A node that has left the cluster still answers, and hears nothing.
    const onLeft = (left: unknown): void => {
      const { options } = left as IoredisClient
      if (options.host === host && options.port === port) subscriber.disconnect()
    }
    if (!this.joins) client.on('-node', onLeft)
    subscriber.on('message', (channel, message) => owner.onMessage(String(channel), String(message)))
    subscriber.on('end', () => {
      if (!this.joins) client.removeListener('-node', onLeft)
      owner.onEnd(connection)
    })
    try {
      // Subscribed between "connect" and "ready", ioredis drops the connection once more, and a message in between is
      // lost.
      await whenReady(subscriber)
    } catch (error) {
      subscriber.disconnect()
      throw error
    }
    return connection
  }

  #primaries(): readonly IoredisClient[] {
    return this.#client.nodes?.('master') ?? [this.#client]
  }

  #limited<T>(promise: Promise<T>): Promise<T> {
    return this.#deadlines.limit(promise)
  }

  /**
   * Given in one turn they leave on one connection, one behind the other: WAIT speaks of its own connection's writes.
   */
  async #andWait(command: string, args: readonly Argument[], wait: ReplicaWait): Promise<Confirmed> {
    const both = [call(this.#client, command, args), call(this.#client, 'WAIT', [wait.replicas, wait.timeoutMs])]
    const [reply, waited] = await this.#limited(Promise.allSettled(both))
    if (reply?.status === 'rejected') throw reply.reason
    if (waited?.status === 'rejected') throw waited.reason
    return { reply: reply?.value, replicas: Number(waited?.value) }
  }
}

/** What ioredis puts before every key; channels have it before them, too, so it must be text. */
function keyPrefixOf(client: IoredisClient): string {
  const given = client.options.keyPrefix ?? ''
  const prefix = String(given)
  if (typeof given !== 'string' && !Buffer.from(prefix).equals(given)) {
    throw new UsageError('the keyPrefix of the ioredis client must be text in UTF-8')
  }
  // Redis takes an empty tag for none: the keys of one line would be spread over several nodes.
  if (isCluster(client) && /^[^{]*\{\}/.test(prefix)) {
    throw new UsageError(
      `on a cluster the first braces of a keyPrefix must have something between them, given ${JSON.stringify(prefix)}`,
    )
  }
  return prefix
}

/** The member `isCluster` came late in ioredis 4. */
function isCluster(client: IoredisClient): boolean {
  return typeof client.nodes === 'function'
}

/**
 * Not through an automatic pipeline: the next one waits for the answers to the one before, and ioredis 4 loses the name
 * of the command there, and then throws where nobody can catch it.
 */
function call(client: IoredisClient, command: string, args: readonly Argument[]): Promise<unknown> {
  const own = client.options.enableAutoPipelining ? client.createBuiltinCommand?.(command) : null
  return own ? (own.string.apply(client, args as never[]) as Promise<unknown>) : client.call(command, ...args)
}

/**
 * Once: told a second time, ioredis waits two seconds for the end of a socket that has ended, and so does the process.
 */
function end(client: IoredisClient): void {
  if (client.status !== 'end') client.disconnect()
}

async function whenReady(client: IoredisClient): Promise<void> {
  if (client.status === 'wait') await client.connect()
  else if (client.status !== 'ready') await once(client as unknown as NodeJS.EventEmitter, 'ready')
}

/** A connection that nobody waits for lets the process end; who waits for an answer has a timer. */
function letEnd(client: IoredisClient): void {
  const unref = (): void => {
    client.stream?.unref?.()
    // ioredis 4 has a timer for each connection, by which it forgets what scripts the server has.
    const { _addedScriptHashesCleanInterval: timer } = client as { _addedScriptHashesCleanInterval?: NodeJS.Timeout }
    timer?.unref()
  }
  unref()
  client.on('connect', unref)
  if (!isCluster(client)) return
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
