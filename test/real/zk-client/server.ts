/** Real ZooKeeper servers from Debian's package for these tests: one, or an ensemble, on free loopback ports. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePorts } from '../../../src/testbed/port.ts'

const JARS = '/usr/share/java'
const LIBRARIES = [
  'zookeeper',
  'zookeeper-jute',
  'slf4j-api',
  'slf4j-simple', // exactly one binding: with two the server dies
  'snappy-java',
  'metrics-core',
  'commons-cli',
  'commons-io',
  'netty-buffer',
  'netty-codec',
  'netty-common',
  'netty-handler',
  'netty-resolver',
  'netty-transport',
  'netty-transport-native-unix-common',
]

interface ServerFiles {
  readonly folder: string
  readonly port: number
  readonly lines: readonly string[]
  readonly flags: readonly string[]
}

export class ZkServer {
  readonly port: number
  readonly #files: ServerFiles
  #process: ChildProcess | null = null

  constructor(files: ServerFiles) {
    this.#files = files
    this.port = files.port
  }

  get address(): string {
    return `127.0.0.1:${this.port}`
  }

  /** Starts the process and waits until it serves, or only until it lives when it has no quorum to serve with. */
  async start(): Promise<void> {
    const { folder, lines, flags } = this.#files
    const config = join(folder, 'zoo.cfg')
    writeFileSync(config, `${lines.join('\n')}\n`)
    const log = openSync(join(folder, 'log'), 'a')
    const classPath = LIBRARIES.map((name) => join(JARS, `${name}.jar`)).filter(existsSync)
    const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain'
    this.#process = spawn(
      'java',
      [
        '-Xmx64m',
        '-XX:+UseSerialGC',
        '-XX:TieredStopAtLevel=1',
        '-Dzookeeper.admin.enableServer=false',
        '-Dzookeeper.extendedTypesEnabled=true',
        '-Dzookeeper.forceSync=no',
        ...flags,
        '-cp',
        classPath.join(':'),
        main,
        config,
      ],
      { stdio: ['ignore', log, log] },
    )
    closeSync(log)
    await once(this.#process, 'spawn')
  }

  /** Waits until the server answers the four-letter word `srvr` with a mode, that is: until it serves. */
  async serving(): Promise<void> {
    const until = performance.now() + 60_000
    while (performance.now() < until) {
      if ((await this.#ask('srvr')).includes('Mode:')) return
      if (this.#process === null || this.#process.exitCode !== null) break
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    throw new Error(`ZooKeeper does not serve:\n${readFileSync(join(this.#files.folder, 'log'), 'utf8').slice(-4_000)}`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal)
  }

  async kill(): Promise<void> {
    const child = this.#process
    this.#process = null
    if (child === null || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  #ask(word: string): Promise<string> {
    return new Promise((resolve) => {
      let answer = ''
      const socket = connect(this.port, '127.0.0.1')
      socket.setTimeout(1_000, () => socket.destroy())
      socket.on('connect', () => socket.write(word))
      socket.on('data', (chunk) => {
        answer += chunk.toString()
      })
      socket.on('error', () => undefined) // not up yet: the caller asks again
      socket.on('close', () => resolve(answer))
    })
  }
}

export interface Ensemble extends AsyncDisposable {
  readonly servers: readonly ZkServer[]
  readonly addresses: string[]
}

interface EnsembleOptions {
  /** The port by which server `from` reaches a port of server `to`, for a proxy in between. */
  readonly route?: (from: number, to: number, port: number, use: 'quorum' | 'election') => Promise<number>
  readonly count?: number
  readonly tickMs?: number
  readonly lines?: readonly string[]
  readonly flags?: readonly string[]
}

/** Starts `count` servers (1) with the given tick (500 ms); all are gone when the result is disposed of. */
export async function startEnsemble(options: EnsembleOptions = {}): Promise<Ensemble> {
  const { count = 1, tickMs = 500, lines = [], flags = [], route } = options
  const root = mkdtempSync(join(tmpdir(), 'hf-zk-'))
  const ports = await freePorts(count * 3)
  const member = async (from: number, to: number): Promise<string> => {
    const [quorum, election] = [ports[count + to - 1] as number, ports[2 * count + to - 1] as number]
    if (from === to || route === undefined) return `server.${to}=127.0.0.1:${quorum}:${election}`
    const [via, vote] = [await route(from, to, quorum, 'quorum'), await route(from, to, election, 'election')]
    return `server.${to}=127.0.0.1:${via}:${vote}`
  }
  const ids = Array.from({ length: count }, (_, i) => i + 1)
  const members = await Promise.all(ids.map((from) => Promise.all(ids.map((to) => member(from, to)))))
  const servers = Array.from({ length: count }, (_, i) => {
    const folder = join(root, String(i + 1))
    mkdirSync(folder)
    writeFileSync(join(folder, 'myid'), `${i + 1}\n`)
    const port = ports[i] as number
    const common = [`tickTime=${tickMs}`, `dataDir=${folder}`, 'initLimit=20', 'syncLimit=10', 'maxClientCnxns=0']
    const own = [`clientPort=${port}`, 'clientPortAddress=127.0.0.1', '4lw.commands.whitelist=*']
    return new ZkServer({
      folder,
      port,
      flags,
      lines: [...common, ...own, ...(count > 1 ? (members[i] ?? []) : []), ...lines],
    })
  })
  await Promise.all(servers.map((server) => server.start()))
  await Promise.all(servers.map((server) => server.serving()))
  return {
    servers,
    addresses: servers.map((server) => server.address),
    async [Symbol.asyncDispose]() {
      await Promise.all(servers.map((server) => server.kill()))
      rmSync(root, { recursive: true, force: true })
    },
  }
}
