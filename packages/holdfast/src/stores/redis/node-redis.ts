/** A Redis behind the user's own @redis/client (node-redis): a client, a pool, a cluster or sentinels. */
import { diagnostics } from '../../contract/events.ts'
import { UnsupportedError } from '../../contract/errors.ts'
import { replyOf } from './errors.ts'
import { CommandDeadlines } from './deadline.ts'
import { type NodeRedisClient, type NodeRedisRoute, routeOf } from './node-redis-routes.ts'
import { type SubscriberConnection, type SubscriberEvents, Subscriber } from './subscriber.ts'
import type { Settings } from './options.ts'
import type { Confirmed, Transport, ReplicaWait } from './transport.ts'
import type { Argument } from '../../clients/redis/encode.ts'
import { scanStrings } from '../../clients/redis/scan.ts'
import type { Script } from '../../clients/redis/script.ts'

export class NodeRedisTransport implements Transport {
  readonly where = 'the given client'
  readonly keyPrefix = ''
  readonly joins: boolean
  onGap: () => void = () => undefined
  readonly #route: NodeRedisRoute
  readonly #deadlines: CommandDeadlines
  readonly #subscriber: Subscriber

  constructor(client: Parameters<typeof routeOf>[0], settings: Settings) {
    this.#route = routeOf(client)
    this.joins = this.#route.joins
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
    await this.askAll(['PING'])
  }

  run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(asText)]
    const send = (command: (string | Buffer)[]): Promise<unknown> => this.#route.send(keys[0] ?? '', command)
    return this.#deadlines.limit(send(['EVALSHA', script.sha1, ...rest]), (error) =>
      isNoScript(error) ? send(['EVAL', script.lua, ...rest]) : null,
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
      return await this.#andWait(['EVALSHA', script.sha1, keys.length, ...keys, ...args], wait)
    } catch (error) {
      if (!isNoScript(error)) throw error
      return this.#andWait(['EVAL', script.lua, keys.length, ...keys, ...args], wait)
    }
  }

  async askAll(args: readonly Argument[]): Promise<readonly unknown[]> {
    const primaries = await this.#route.primaries()
    return this.#deadlines.limit(Promise.all(primaries.map((send) => send(args.map(asText)))))
  }

  async *scan(pattern: string): AsyncGenerator<readonly string[]> {
    for (const send of await this.#route.primaries()) {
      yield* scanStrings((args) => this.#deadlines.limit(send(args.map(asText))), pattern)
    }
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
    const subscriber = await this.#route.listener(owner)
    if (!('connect' in subscriber)) return subscriber
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

  /**
   * Given in one turn they leave on one connection, one behind the other: WAIT speaks of its own connection's writes.
   */
  async #andWait(args: readonly Argument[], { replicas, timeoutMs }: ReplicaWait): Promise<Confirmed> {
    const both = this.#route.onOne((send) =>
      Promise.allSettled([send(args.map(asText)), send(['WAIT', String(replicas), String(timeoutMs)])]),
    )
    const [reply, waited] = await this.#deadlines.limit(both)
    if (reply.status === 'rejected') throw reply.reason
    if (waited.status === 'rejected') throw waited.reason
    return { reply: reply.value, replicas: Number(waited.value) }
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
