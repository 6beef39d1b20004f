/** The ways of @redis/client to a Redis: one client, a pool of them, a cluster, or what sentinels watch. */
import { StoreUnreachableError } from '../../contract/errors.ts'
import type { SubscriberConnection, SubscriberEvents } from './subscriber.ts'

type Command = readonly (string | Buffer)[]
type Listener = (message: string, channel: string) => void

/** The members of a client of @redis/client that are called; `redis` 4, 5 and 6 have it inside. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  sendCommand(args: Command, options?: object): Promise<unknown>
  duplicate(): NodeRedisClient
  connect(): Promise<unknown>
  /** At once; since redis 5. */
  destroy?(): void
  /** The same of redis 4. */
  disconnect?(): unknown
  /** Lets the process end while it is connected. */
  unref(): void
  subscribe(channel: string, listener: Listener): Promise<unknown>
  unsubscribe(channel: string): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
}

/** The members of a pool (createClientPool) that are called. */
export interface NodeRedisPool {
  readonly totalClients: number
  sendCommand(args: Command, options?: object): Promise<unknown>
  /** Calls `work` with a client of the pool; typed so that it takes a pool with whatever modules. */
  execute(work: never): Promise<unknown>
}

/** The members of a cluster (createCluster) that are called. */
export interface NodeRedisCluster {
  readonly masters: readonly object[]
  sendCommand(firstKey: string, isReadonly: boolean, args: Command, options?: object): Promise<unknown>
  nodeClient(node: never): unknown
}

/** The members of a client of sentinels (createSentinel) that are called. */
export interface NodeRedisSentinel {
  getSentinelNode(): unknown
  sendCommand(isReadonly: boolean, args: Command, options?: object): Promise<unknown>
  /** Calls `work` with a client that nobody else uses meanwhile. */
  use(work: never): Promise<unknown>
  subscribe(channel: string, listener: Listener): Promise<unknown>
  unsubscribe(channel: string, listener: never): Promise<unknown>
  on(event: string, listener: (...args: unknown[]) => void): unknown
  removeListener(event: string, listener: (...args: unknown[]) => void): unknown
}

export type Send = (args: Command) => Promise<unknown>

export interface NodeRedisRoute {
  /** Whether one call may touch keys of several lines. */
  readonly joins: boolean
  /** Sends a command about a key to where the key is. */
  send(key: string, args: Command): Promise<unknown>
  /** One connection for all commands of `work`. */
  onOne<T>(work: (send: Send) => Promise<T>): Promise<T>
  /** A way to each primary. */
  primaries(): Promise<readonly Send[]>
  /** A connection that listens: a client to be connected, or one that is there already. */
  listener(owner: SubscriberEvents): Promise<NodeRedisClient | SubscriberConnection>
}

/** Replies as they are, whatever types the user has set for his own. */
const PLAIN = { typeMapping: {} }

export function routeOf(
  client: NodeRedisClient | NodeRedisPool | NodeRedisCluster | NodeRedisSentinel,
): NodeRedisRoute {
  if ('nodeClient' in client) return overCluster(client)
  if ('getSentinelNode' in client) return overSentinel(client)
  return 'totalClients' in client ? overPool(client) : overClient(client)
}

function overClient(client: NodeRedisClient): NodeRedisRoute {
  const send: Send = (args) => client.sendCommand(args, PLAIN)
  return {
    joins: true,
    send: (_, args) => send(args),
    onOne: (work) => work(send),
    primaries: async () => [send],
    listener: async () => client.duplicate(),
  }
}

function overPool(pool: NodeRedisPool): NodeRedisRoute {
  const send: Send = (args) => pool.sendCommand(args, PLAIN)
  const withClient = <T>(work: (client: NodeRedisClient) => T | Promise<T>): Promise<T> =>
    pool.execute(work as never) as Promise<T>
  return {
    joins: true,
    send: (_, args) => send(args),
    onOne: (work) => withClient((client) => overClient(client).onOne(work)),
    primaries: async () => [send],
    // Wrapped: what `execute` gets it awaits.
    async listener() {
      return (await withClient((client) => ({ made: client.duplicate() }))).made
    },
  }
}

function overCluster(cluster: NodeRedisCluster): NodeRedisRoute {
  const nodes = async (): Promise<NodeRedisClient[]> =>
    Promise.all(cluster.masters.map(async (node) => (await cluster.nodeClient(node as never)) as NodeRedisClient))
  return {
    joins: false,
    send: (key, args) => cluster.sendCommand(key, false, args, PLAIN),
    onOne: () => Promise.reject(new Error('the node of a key is chosen by the cluster')),
    primaries: async () => (await nodes()).map((node) => (args) => node.sendCommand(args, PLAIN)),
    async listener() {
      const all = await nodes()
      const node = all[Math.floor(Math.random() * all.length)]
      if (node === undefined) throw new StoreUnreachableError('Redis: no node of the cluster is known yet')
      return node.duplicate()
    },
  }
}

function overSentinel(sentinel: NodeRedisSentinel): NodeRedisRoute {
  const send: Send = (args) => sentinel.sendCommand(false, args, PLAIN)
  return {
    joins: true,
    send: (_, args) => send(args),
    onOne(work) {
      const own = (client: NodeRedisSentinel): ReturnType<typeof work> =>
        work((args) => client.sendCommand(false, args, PLAIN))
      return sentinel.use(own as never) as ReturnType<typeof work>
    },
    primaries: async () => [send],
    listener: async (owner) => listening(sentinel, owner),
  }
}

/** Sentinels' clients have a connection of their own for channels, which follows the primary. */
function listening(sentinel: NodeRedisSentinel, owner: SubscriberEvents): SubscriberConnection {
  const heard: Listener = (message, channel) => owner.onMessage(channel, message)
  const channels = new Set<string>()
  const connection: SubscriberConnection = {
    subscribe(channel) {
      channels.add(channel)
      return sentinel.subscribe(channel, heard)
    },
    unsubscribe(channel) {
      channels.delete(channel)
      return sentinel.unsubscribe(channel, heard as never)
    },
    end() {
      sentinel.removeListener('topology-change', onChange)
      // The sentinel's client may be closed by now, and its channels with it.
      for (const channel of channels) Promise.resolve(sentinel.unsubscribe(channel, heard as never)).catch(nothing)
    },
  }
  // Another primary: what the old one would have told is lost.
  const onChange = (event: unknown): void => {
    if ((event as { readonly type?: unknown }).type !== 'MASTER_CHANGE') return
    connection.end()
    owner.onEnd(connection)
  }
  sentinel.on('topology-change', onChange)
  return connection
}

function nothing(): void {}
