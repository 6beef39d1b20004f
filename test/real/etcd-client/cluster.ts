/** Real etcd servers for these tests: own folder, own loopback ports, stopped by the pid that was started. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { EtcdClient, type EtcdClientOptions, type StatusResponse } from '../../../src/drivers/etcd/client/index.ts'
import { freePorts } from '../../../src/testbed/port.ts'

/** Debian's etcd-server. */
const PROGRAM = 'etcd'

export interface ClusterOptions {
  readonly size?: number
  /** More flags for every member. */
  readonly flags?: readonly string[]
  readonly scheme?: 'http' | 'https'
  /** How a client must be set up to see that a member is up. */
  readonly client?: Partial<EtcdClientOptions>
}

export class Member {
  readonly endpoint: string
  readonly #args: readonly string[]
  readonly #options: Partial<EtcdClientOptions>
  #child: ChildProcess | undefined

  constructor(endpoint: string, args: readonly string[], options: Partial<EtcdClientOptions>) {
    this.endpoint = endpoint
    this.#args = args
    this.#options = options
  }

  start(): void {
    this.#child = spawn(PROGRAM, this.#args, { stdio: 'ignore' })
  }

  /** Until it answers a linearizable read: it is up, and there is a leader. */
  async ready(): Promise<void> {
    const client = new EtcdClient({ ...this.#options, endpoints: [this.endpoint], timeoutMs: 60_000 })
    try {
      await client.range({ key: Buffer.from('ready?') })
    } finally {
      await client.close()
    }
  }

  /** Stops every thread of the process, and waits until they stand still. */
  async stop(): Promise<void> {
    this.#child?.kill('SIGSTOP')
    const tasks = `/proc/${this.#child?.pid}/task`
    for (;;) {
      const states = await Promise.all((await readdir(tasks)).map((id) => readFile(`${tasks}/${id}/stat`, 'utf8')))
      if (states.every((state) => state.includes(') T '))) return
    }
  }

  /** Lets a stopped process go on. */
  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  /** Ends the process at once and waits until it is gone. */
  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, 'exit')
    child.kill('SIGKILL')
    await gone
  }
}

export class Cluster {
  readonly members: readonly Member[]
  readonly #folder: string

  constructor(members: readonly Member[], folder: string) {
    this.members = members
    this.#folder = folder
  }

  get endpoints(): string[] {
    return this.members.map((member) => member.endpoint)
  }

  get first(): Member {
    return this.members[0] as Member
  }

  /** The member that leads, and the rest. */
  leader(): Promise<{ found: Member; others: Member[] }> {
    return this.#find((status) => status.leader !== 0n && status.leader === status.header.memberId)
  }

  /** The member that this client is connected to, and the rest: under load it need not be the first of its list. */
  async serving(client: EtcdClient): Promise<{ found: Member; others: Member[] }> {
    const { header } = await client.status()
    return this.#find((status) => status.header.memberId === header.memberId)
  }

  async #find(matches: (status: StatusResponse) => boolean): Promise<{ found: Member; others: Member[] }> {
    for (;;) {
      for (const found of this.members) {
        const client = new EtcdClient({ endpoints: [found.endpoint], timeoutMs: 20_000 })
        const status = await client.status()
        await client.close()
        if (matches(status)) return { found, others: this.members.filter((other) => other !== found) }
      }
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill()))
    await rm(this.#folder, { recursive: true, force: true })
  }
}

export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { size = 1, flags = [], scheme = 'http', client = {} } = options
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-etcd-'))
  const ports = await freePorts(size * 2)
  const peers = ports.slice(size).map((port, i) => `m${i}=http://127.0.0.1:${port}`)
  const members = peers.map((peer, i) => {
    const endpoint = `${scheme}://127.0.0.1:${ports[i]}`
    const [name = '', peerUrl = ''] = peer.split('=')
    const settings: Record<string, string> = {
      '--name': name,
      '--data-dir': join(folder, name),
      '--log-level': 'error',
      '--listen-client-urls': endpoint,
      '--advertise-client-urls': endpoint,
      '--listen-peer-urls': peerUrl,
      '--initial-advertise-peer-urls': peerUrl,
      '--initial-cluster': peers.join(','),
      '--initial-cluster-token': folder,
      '--heartbeat-interval': '50',
      '--election-timeout': '500',
    }
    const args = [...Object.entries(settings).flat(), '--unsafe-no-fsync', ...flags]
    return new Member(endpoint, args, client)
  })
  for (const member of members) member.start()
  await Promise.all(members.map((member) => member.ready()))
  return new Cluster(members, folder)
}

/** Runs etcdctl: for what our client has no calls for. */
export async function etcdctl(endpoint: string, ...args: string[]): Promise<string> {
  const env = { ...process.env, ETCDCTL_API: '3' }
  return (await promisify(execFile)('etcdctl', ['--endpoints', endpoint, ...args], { env })).stdout
}
