/**
 * A Redis primary with two replicas, watched by three Sentinels that promote a replica when the primary falls silent.
 */
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from 'holdfast'
import { addresses, type Bed, type Group } from './bed.ts'
import type { Identity } from './certificates.ts'
import { freePort } from './port.ts'
import { quoted, type RedisOptions, redisAsk, redisServer, tlsConf } from './redis.ts'
import type { Server } from './server.ts'
import { until } from './until.ts'

export interface SentinelOptions extends RedisOptions {
  /** How long the primary must be silent until it counts as down; default 500. */
  readonly downAfterMs?: number
  /** Password that the Sentinels want, too; none by default. It does not stand in the URL. */
  readonly sentinelPassword?: string
  /** Default 2, 0 … 5. */
  readonly replicas?: number
}

export interface SentinelGroup extends Group {
  /** The primary at the start. */
  readonly primary: Server
  readonly replicas: readonly Server[]
  readonly sentinels: readonly Server[]
  /** The server that this Sentinel (default: the first) takes for the primary now. */
  currentPrimary(sentinel?: Server): Promise<Server>
}

const MASTER = 'mymaster'
const SENTINELS = 3

export async function startSentinel(bed: Bed, o: SentinelOptions = {}): Promise<SentinelGroup> {
  const wanted = o.replicas ?? 2
  if (!Number.isInteger(wanted) || wanted < 0 || wanted > 5) {
    throw new UsageError(`sentinel: ${wanted} replicas asked for; it can be 0 to 5`)
  }
  const primary = await redisServer(bed, o, 'primary')
  await primary.start()
  const replicas: Server[] = []
  for (let i = 0; i < wanted; i++) {
    replicas.push(await redisServer(bed, { ...o, replicaof: { port: primary.port } }, 'replica'))
  }
  await bed.startAll(replicas)
  const password = o.requirepass ?? ''
  const tls = o.tls?.pem
  // Sentinels that start before the replicas are linked learn of them only 10 s later, from their next INFO.
  for (const replica of replicas) {
    await expectInfo(replica, { password, tls }, /master_link_status:up/, 'is linked to its primary')
  }
  const sentinels: Server[] = []
  for (let i = 0; i < SENTINELS; i++) sentinels.push(await sentinelServer(bed, primary.port, o))
  await bed.startAll(sentinels)
  for (const sentinel of sentinels) {
    const whole = new RegExp(`name=${MASTER},status=ok,.*slaves=${replicas.length},sentinels=${SENTINELS}`)
    await expectInfo(sentinel, { password: o.sentinelPassword ?? '', tls }, whole, 'knows all others')
  }
  const nodes = [primary, ...replicas]
  const user = password === '' ? '' : `default:${encodeURIComponent(password)}@`
  return {
    url: `redis+sentinel://${user}${addresses(sentinels)}/${MASTER}`,
    servers: [...nodes, ...sentinels],
    primary,
    replicas,
    sentinels,
    async currentPrimary(sentinel = sentinels[0]) {
      const said = await redisAsk(sentinel?.port ?? 0, o.sentinelPassword ?? '', ['INFO', 'sentinel'], tls)
      const port = Number(/address=[^,]*:(\d+)/.exec(said)?.[1])
      return nodes.find((node) => node.port === port) ?? primary
    },
  }
}

async function sentinelServer(bed: Bed, primaryPort: number, o: SentinelOptions): Promise<Server> {
  const found = await bed.found('redis')
  const { name, dir } = await bed.folder('sentinel')
  const port = await freePort()
  const template = join(dir, 'sentinel.conf')
  const auth = o.requirepass === undefined ? [] : [`sentinel auth-pass ${MASTER} ${quoted(o.requirepass)}`]
  const lines = [
    'bind 127.0.0.1',
    ...Object.entries(o.tls === undefined ? { port } : tlsConf(port, o.tls)).map(([key, value]) => `${key} ${value}`),
    `sentinel monitor ${MASTER} 127.0.0.1 ${primaryPort} 2`,
    `sentinel down-after-milliseconds ${MASTER} ${o.downAfterMs ?? 500}`,
    `sentinel failover-timeout ${MASTER} 3000`,
    `sentinel parallel-syncs ${MASTER} 1`,
    ...auth,
    ...(o.sentinelPassword === undefined ? [] : [`requirepass ${quoted(o.sentinelPassword)}`]),
  ]
  await writeFile(template, `${lines.join('\n')}\n`, { mode: 0o600 })
  // Sentinel keeps all it knows in its configuration file: that file is its data, and a restart without them begins
  // anew.
  const file = join(dir, 'data', 'sentinel.conf')
  return bed.add({
    name,
    dir,
    port,
    url: `${o.tls === undefined ? 'redis' : 'rediss'}://127.0.0.1:${port}`,
    command: [found.path('redis-server'), file, '--sentinel'],
    fill: () => copyFile(template, file),
    ask: async () => {
      const said = await redisAsk(port, o.sentinelPassword ?? '', ['PING'], o.tls?.pem)
      if (said !== '+PONG\r\n') throw new Error(`PING was answered with ${JSON.stringify(said)}`)
    },
  })
}

async function expectInfo(
  server: Server,
  { password, tls }: { readonly password: string; readonly tls: Identity['pem'] | undefined },
  wanted: RegExp,
  what: string,
): Promise<void> {
  await until(
    async () => {
      const said = await redisAsk(server.port, password, ['INFO'], tls)
      if (!wanted.test(said)) throw new Error(`INFO does not match ${wanted}`)
    },
    { what: `${server.name} ${what}` },
  )
}
