/** What the tests of the ZooKeeper driver share: servers, instances on them, and who leads. */
import type { HoldfastOptions } from '../../../src/contract/options.ts'
import { ZooKeeperClient } from '../../../src/clients/zookeeper/index.ts'
import { zookeeper, type ZookeeperOptions } from '../../../src/stores/zookeeper/index.ts'
import { type Holdfast, makeInstance } from '../../../src/holdfast.ts'
import { exchange } from '../../../../holdfast-lab/src/testbed/exchange.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import type { ZookeeperOptions as ServerOptions } from '../../../../holdfast-lab/src/testbed/zookeeper.ts'

export const PATIENCE_MS = 30_000

export class Rig implements AsyncDisposable {
  readonly servers: readonly Server[]
  readonly #bed: Testbed
  readonly #closers: (() => Promise<unknown>)[] = []

  private constructor(bed: Testbed, servers: readonly Server[]) {
    this.#bed = bed
    this.servers = servers
  }

  static async open(count: number, options: ServerOptions = {}): Promise<Rig> {
    await requireServers(['zookeeper'])
    const bed = await testbed()
    return new Rig(bed, (await bed.zookeeper(count, options)).servers)
  }

  get addresses(): string[] {
    return this.servers.map(({ port }) => `127.0.0.1:${port}`)
  }

  async holdfast(over: Partial<ZookeeperOptions> = {}, options: HoldfastOptions = {}): Promise<Holdfast> {
    const hf = makeInstance(await zookeeper({ servers: this.addresses, ...over }), options)
    this.#closers.push(() => hf.close())
    return hf
  }

  /** A bare client, to do by hand what no user of locks would. */
  client(): ZooKeeperClient {
    const client = new ZooKeeperClient({ servers: this.addresses })
    this.#closers.push(() => client.close({ timeoutMs: 1_000 }))
    return client
  }

  /** The server that leads now. */
  async leader(): Promise<Server> {
    return until('somebody leads', async () => {
      for (const server of this.servers) {
        if ((await mode(server)) === 'leader') return server
      }
      return null
    })
  }

  /** Closes the instances, not the servers. */
  async clear(): Promise<void> {
    await Promise.all(this.#closers.splice(0).map((close) => close()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.clear()
    await this.#bed.close()
  }
}

async function mode(server: Server): Promise<string> {
  return /Mode: (\S+)/.exec(await say(server, 'srvr', 'Node count:'))?.[1] ?? ''
}

/** The answer to a four-letter word, once it holds `part`; '' if the server is down or changes its mind. */
export async function say(server: Pick<Server, 'port'>, word: string, part: string): Promise<string> {
  try {
    return (await exchange({ port: server.port, send: word, done: (bytes) => bytes.includes(part) })).toString()
  } catch (error) {
    if (error instanceof Error) return ''
    throw error
  }
}

/** Asks again until there is an answer. */
export async function until<T>(
  what: string,
  ask: () => Promise<T | null> | T | null,
  patienceMs: number = PATIENCE_MS,
): Promise<T> {
  const end = performance.now() + patienceMs
  for (;;) {
    const answer = await ask()
    if (answer !== null) return answer
    if (performance.now() > end) throw new Error(`not within ${patienceMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** The nodes of the places in a line, in the default layout. */
export async function placesOf(client: ZooKeeperClient, line: string): Promise<string[]> {
  const path = `/holdfast/lines/${encodeURIComponent(line)}`
  if ((await client.exists(path)) === null) return []
  await client.sync('/')
  return (await client.getChildren(path)).children.map((name) => `${path}/${name}`)
}
