/** etcd: one member, or several that vote. */
import { request } from 'node:http'
import { request as secureRequest } from 'node:https'
import { addresses, type Bed, countOf, type Group, type StartOptions } from './bed.ts'
import type { Identity } from './certificates.ts'
import { freePorts } from './port.ts'

export interface EtcdOptions extends StartOptions {
  /**
   * Default 20; etcd's own is 100. The election timeout also bounds the shortest lease: 1 s is granted as 2 s with
   * etcd's own.
   */
  readonly heartbeatMs?: number
  /** Default 200, at least five heartbeats. */
  readonly electionMs?: number
  /** Turns authentication on with this password for the user root, which then stands in the URL; off by default. */
  readonly rootPassword?: string
  /**
   * Serves clients over TLS with this certificate, and wants one of the same authority from them. In plain text by
   * default.
   */
  readonly tls?: Identity
  /**
   * Given the port on which a member listens to the others, returns the port on which the others reach it; default: the
   * same.
   */
  readonly peerPort?: (port: number) => Promise<number>
  /** Further flags, such as `--quota-backend-bytes=…`. */
  readonly flags?: readonly string[]
}

/** Starts `count` members and waits until each of them can write, which needs a leader. */
export async function startEtcd(bed: Bed, count: number, o: EtcdOptions = {}): Promise<Group> {
  const found = await bed.found('etcd')
  const members: {
    readonly name: string
    readonly dir: string
    readonly port: number
    readonly peerPort: number
    readonly peer: string
  }[] = []
  for (let i = 0; i < countOf('etcd', count); i++) {
    const [port = 0, peerPort = 0] = await freePorts(2)
    const peer = `http://127.0.0.1:${(await o.peerPort?.(peerPort)) ?? peerPort}`
    members.push({ ...(await bed.folder('etcd')), port, peerPort, peer })
  }
  const heartbeatMs = o.heartbeatMs ?? 20
  const electionMs = o.electionMs ?? 200
  const user = o.rootPassword === undefined ? '' : `root:${encodeURIComponent(o.rootPassword)}@`
  const [scheme, store] = o.tls === undefined ? ['http', 'etcd'] : ['https', 'etcds']
  const servers = members.map(({ name, dir, port, peerPort, peer }) =>
    bed.add({
      name,
      dir,
      port,
      url: `${store}://${user}127.0.0.1:${port}`,
      command: [
        found.path('etcd'),
        `--name=${name}`,
        `--data-dir=${dir}/data`,
        `--listen-client-urls=${scheme}://127.0.0.1:${port}`,
        `--advertise-client-urls=${scheme}://127.0.0.1:${port}`,
        `--listen-peer-urls=http://127.0.0.1:${peerPort}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=${members.map((member) => `${member.name}=${member.peer}`).join(',')}`,
        '--initial-cluster-state=new',
        `--heartbeat-interval=${heartbeatMs}`,
        `--election-timeout=${electionMs}`,
        '--logger=zap',
        ...(o.tls === undefined ? [] : tlsFlags(o.tls)),
        ...(o.flags ?? []),
      ],
      ...(o.env === undefined ? {} : { env: o.env }),
      ask: () => expectHealth({ port, tls: o.tls?.pem }),
    }),
  )
  await bed.startAll(servers)
  const first = servers[0]
  if (o.rootPassword !== undefined && first !== undefined)
    await enableAuth({ port: first.port, tls: o.tls?.pem }, o.rootPassword)
  return { url: `${store}://${user}${addresses(servers)}`, servers }
}

interface Address {
  readonly port: number
  readonly tls: Identity['pem'] | undefined
}

function tlsFlags({ caFile, certFile, keyFile }: Identity): string[] {
  return [`--cert-file=${certFile}`, `--key-file=${keyFile}`, '--client-cert-auth', `--trusted-ca-file=${caFile}`]
}

/** etcd's health is the outcome of a read by consensus: there is a leader, and this member hears it. */
async function expectHealth(at: Address): Promise<void> {
  const said = await call(at, 'GET', '/health')
  if (!/"health"\s*:\s*"?true/.test(said)) throw new Error(`unhealthy: ${said}`)
}

async function enableAuth(at: Address, password: string): Promise<void> {
  await call(at, 'POST', '/v3/auth/user/add', { name: 'root', password })
  await call(at, 'POST', '/v3/auth/role/add', { name: 'root' })
  await call(at, 'POST', '/v3/auth/user/grant', { user: 'root', role: 'root' })
  await call(at, 'POST', '/v3/auth/enable', {})
}

/**
 * One request, on a connection that is closed after it: etcd's orderly stop would wait for a connection that is kept
 * alive. No error shows the body, because it may contain a password.
 */
function call({ port, tls }: Address, method: 'GET' | 'POST', path: string, body?: object): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, agent: false, timeout: 5_000, ...tls }
    const sent = (tls === undefined ? request : secureRequest)(options, (response) => {
      let said = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => {
        said += text
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(said)
        else reject(new Error(`etcd ${path}: ${response.statusCode} ${said}`))
      })
    })
    sent.on('error', reject)
    sent.on('timeout', () => sent.destroy(new Error(`etcd ${path}: no answer within 5000 ms`)))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
