/** ZooKeeper: one server, or an ensemble. */
import { writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addresses, type Bed, countOf, type Group, type StartOptions } from './bed.ts'
import type { Identity } from './certificates.ts'
import { exchange } from './exchange.ts'
import { freePort, freePorts } from './port.ts'

export interface ZookeeperOptions extends StartOptions {
  /** Whether what is voted for reaches the disk first; default false, since only a loss of power could tell. */
  readonly durable?: boolean
  /** Default 200. Sessions are granted between 2 and 20 ticks. */
  readonly tickMs?: number
  /** Java heap; default 64. */
  readonly heapMb?: number
  /** The port by which server `from` (counted from 1) reaches a port of server `to`; default: that port itself. */
  readonly peerPort?: (from: number, to: number, port: number, use: 'quorum' | 'election') => Promise<number>
  /**
   * Serves clients over TLS with this certificate, and wants one of the same authority from them. In plain text by
   * default.
   */
  readonly tls?: Identity
  /** Further arguments of java, such as `-Dznode.container.checkIntervalMs=…`. */
  readonly flags?: readonly string[]
  /** Further lines of zoo.cfg. */
  readonly config?: Readonly<Record<string, string | number>>
}

/** Starts `count` servers and waits until each of them serves, which in an ensemble needs a leader. */
export async function startZookeeper(bed: Bed, count: number, o: ZookeeperOptions = {}): Promise<Group> {
  const found = await bed.found('zookeeper')
  const members: Member[] = []
  for (let i = 0; i < countOf('zookeeper', count); i++) {
    const [plain = 0, quorum = 0, election = 0] = await freePorts(3)
    const port = o.tls === undefined ? plain : await freePort()
    members.push({ ...(await bed.folder('zookeeper')), port, plain, quorum, election })
  }
  // Exactly one binding of slf4j: with none the log is lost, with two the server does not start.
  const libraries = [found.path('zookeeper.jar'), found.path('slf4j-simple.jar')]
  const scheme = o.tls === undefined ? 'zookeeper' : 'zookeepers'
  const classPath = [...libraries, ...(o.tls === undefined ? [] : netty(dirname(libraries[0] as string)))].join(':')
  const heap = `${o.heapMb ?? 64}m`
  const servers = []
  for (const [i, { name, dir, port, plain }] of members.entries()) {
    const data = join(dir, 'data')
    const file = join(dir, 'zoo.cfg')
    const secure = o.tls === undefined ? {} : await secureCfg(dir, port, o.tls)
    await writeFile(file, zooCfg({ dataDir: data, clientPort: plain, ...secure }, await votes(members, i + 1, o), o))
    servers.push(
      bed.add({
        name,
        dir,
        port,
        url: `${scheme}://127.0.0.1:${port}`,
        command: [
          found.path('java'),
          `-Xms${heap}`,
          `-Xmx${heap}`,
          '-XX:+UseSerialGC',
          // Starts a third sooner on two shared cores; these servers don't live long enough to gain from the second
          // compiler.
          '-XX:TieredStopAtLevel=1',
          '-XX:-UsePerfData',
          '-Dzookeeper.jmx.log4j.disable=true',
          '-Dzookeeper.extendedTypesEnabled=true',
          `-Dzookeeper.forceSync=${o.durable === true ? 'yes' : 'no'}`,
          ...(o.tls === undefined
            ? []
            : ['-Dzookeeper.serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory']),
          ...(o.flags ?? []),
          '-cp',
          classPath,
          'org.apache.zookeeper.server.quorum.QuorumPeerMain',
          file,
        ],
        ...(o.env === undefined ? {} : { env: o.env }),
        fill: () => writeFile(join(data, 'myid'), `${i + 1}\n`),
        ask: () => expectServing(plain),
      }),
    )
  }
  await bed.startAll(servers)
  return { url: `${scheme}://${addresses(servers)}`, servers }
}

interface Member {
  readonly name: string
  readonly dir: string
  readonly port: number
  /** In plain text, to be asked by us; `port` itself where there is no TLS. */
  readonly plain: number
  readonly quorum: number
  readonly election: number
}

/** The ensemble as one of its servers has it; none for a server alone. */
async function votes(members: readonly Member[], from: number, o: ZookeeperOptions): Promise<string[]> {
  if (members.length === 1) return []
  const line = async ({ quorum, election }: Member, i: number): Promise<string> => {
    const to = i + 1
    const via = async (port: number, use: 'quorum' | 'election'): Promise<number> =>
      from === to ? port : ((await o.peerPort?.(from, to, port, use)) ?? port)
    return `server.${to}=127.0.0.1:${await via(quorum, 'quorum')}:${await via(election, 'election')}`
  }
  return Promise.all(members.map(line))
}

/** What Netty needs for TLS and the archive of ZooKeeper does not name. */
function netty(folder: string): string[] {
  return ['codec', 'resolver', 'transport-native-unix-common'].map((name) => join(folder, `netty-${name}.jar`))
}

async function secureCfg(
  dir: string,
  port: number,
  { caFile, pem }: Identity,
): Promise<Record<string, string | number>> {
  const keyStore = join(dir, 'keystore.pem')
  await writeFile(keyStore, Buffer.concat([pem.key, pem.cert]))
  return {
    secureClientPort: port,
    secureClientPortAddress: '127.0.0.1',
    'ssl.keyStore.location': keyStore,
    'ssl.trustStore.location': caFile,
    'ssl.clientAuth': 'need',
  }
}

function zooCfg(
  own: Readonly<Record<string, string | number>>,
  ensemble: readonly string[],
  o: ZookeeperOptions,
): string {
  const directives: Record<string, string | number> = {
    ...own,
    clientPortAddress: '127.0.0.1',
    tickTime: o.tickMs ?? 200,
    // In ticks; a starved machine needs seconds to connect and synchronize, however short the tick.
    initLimit: 50,
    syncLimit: 25,
    maxClientCnxns: 0,
    'admin.enableServer': 'false',
    '4lw.commands.whitelist': '*',
    ...o.config,
  }
  const lines = Object.entries(directives).map(([key, value]) => `${key}=${value}`)
  return `${[...lines, ...ensemble].join('\n')}\n`
}

/** A server without a quorum answers "not currently serving requests"; one that serves tells its mode. */
async function expectServing(port: number): Promise<void> {
  const said = await exchange({ port, send: 'srvr', done: (bytes) => bytes.includes('Node count:') })
  if (!/Mode: (standalone|leader|follower)/.test(said.toString())) throw new Error(`not serving: ${said.toString()}`)
}
