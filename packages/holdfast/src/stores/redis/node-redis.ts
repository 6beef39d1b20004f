/** A Redis behind the user's own @redis/client (node-redis). */
import { diagnostics } from '../../contract/events.ts'
import { replyOf } from './errors.ts'
import { CommandDeadlines } from './deadline.ts'
import { type SubscriberConnection, type SubscriberEvents, Subscriber } from './subscriber.ts'
import type { Settings } from './options.ts'
import type { Confirmed, Transport, ReplicaWait } from './transport.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import { scanStrings } from '../../clients/redis/scan.ts'
import type { Script } from '../../clients/redis/script.ts'

/** The members of a client of @redis/client that are called; `redis` 4, 5 and 6 have it inside. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  sendCommand(args: readonly (string | Buffer)[], options?: object): Promise<unknown>
  duplicate(): NodeRedisClient
  connect(): Promise<unknown>
  /** At once; since redis 5. */
  destroy?(): void
  /** The same of redis 4. */
  disconnect?(): unknown
  /** Lets the process end while it is connected. */
  unref(): void
  subscribe(channel: string, listener: (message: string, channel: string) => void): Promise<unknown>
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
  readonly #deadlines: CommandDeadlines
  readonly #subscriber: Subscriber

  constructor(client: NodeRedisClient, settings: Settings) {
    this.#client = client
    this.#deadlines = new CommandDeadlines(settings.commandTimeoutMs, this.where)
    this.#subscriber = new Subscriber({
      where: this.where,
      connectTimeoutMs: settings.connectTimeoutMs,
      deadlines: this.#deadlines,
      open: (owner) => this.#listen(owner),
      onGap: () => this.onGap(),
    })
  }

  async open(): Promise<void> {
    await this.#command(['PING'])
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(asText)]
    return this.#deadlines.limit(this.#client.sendCommand(['EVALSHA', script.sha1, ...rest], PLAIN), (error) =>
      isNoScript(error) ? this.#client.sendCommand(['EVAL', script.lua, ...rest], PLAIN) : null,
    )
  }

  async runAndWait(
    script: Script,
    keys: readonly string[],
    args: readonly Argument[],
    wait: ReplicaWait,
  ): Promise<Confirmed> {
    try {
      return await this.#andWait(['EVALSHA', script.sha1, keys.length, ...keys, ...args], wait)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.#andWait(['EVAL', script.lua, keys.length, ...keys, ...args], wait)
    }
  }

  async askAll(args: readonly Argument[]): Promise<readonly unknown[]> {
    return [await this.#command(args)]
  }

  scan(pattern: string): AsyncIterable<readonly string[]> {
    return scanStrings((args) => this.#command(args), pattern)
  }

  subscribe(channel: string, onMessage: (message: string) => void): Promise<void> {
    return this.#subscriber.subscribe(channel, onMessage)
  }

  unsubscribe(channel: string): Promise<void> {
    return this.#subscriber.unsubscribe(channel)
  }

  reconnect(): void {
    // The client is its owner's.
  }

  async close(): Promise<void> {
    this.#subscriber.close()
  }

  /** A connection of our own beside the client. */
  async #listen(owner: SubscriberEvents): Promise<SubscriberConnection> {
    const subscriber = this.#client.duplicate()
    const onMessage = (message: string, channel: string): void => owner.onMessage(channel, message)
    const connection: SubscriberConnection = {
      subscribe: (channel) => subscriber.subscribe(channel, onMessage),
      unsubscribe: (channel) => subscriber.unsubscribe(channel),
      end: () => shut(subscriber),
    }
    try {
      await new Promise<unknown>((resolve, reject) => {
        // An 'error' is a connection that was lost, or could not be made. What the client does then is not waited for.
        const onLost = (error: unknown): void => {
          owner.onEnd(connection)
          reject(error instanceof Error ? error : new Error('the connection that listens was closed'))
        }
        subscriber.on('error', onLost)
        subscriber.on('end', onLost)
        subscriber.connect().then(resolve, reject)
      })
    } catch (error) {
      shut(subscriber)
      throw error
    }
    subscriber.unref()
    return connection
  }

  #command(args: readonly Argument[]): Promise<unknown> {
    return this.#deadlines.limit(this.#client.sendCommand(args.map(asText), PLAIN))
  }

  async #andWait(args: readonly Argument[], wait: ReplicaWait): Promise<Confirmed> {
    const both = [this.#command(args), this.#command(['WAIT', wait.replicas, wait.timeoutMs])]
    const [reply, waited] = await Promise.allSettled(both)
    if (reply?.status === 'rejected') throw reply.reason
    if (waited?.status === 'rejected') throw waited.reason
    return { reply: reply?.value, replicas: Number(waited?.value) }
  }
}

function shut(client: NodeRedisClient): void {
  if (!client.isOpen) return
  if (client.destroy !== undefined) client.destroy()
  else Promise.resolve(client.disconnect?.()).catch((error: unknown) => diagnostics.failed('', error))
}

function asText(arg: Argument): string | Buffer {
  return typeof arg === 'number' ? String(arg) : arg
}

function isNoScript(error: unknown): boolean {
  return replyOf(error)?.startsWith('NOSCRIPT') ?? false
}
