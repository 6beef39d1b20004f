/** A Redis primary with two replicas, watched by three Sentinels that promote a replica when the primary falls silent. */
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageError } from '../core/errors.ts'
import { addresses, type Bed, type Group } from './bed.ts'
import { freePort } from './port.ts'
import { quoted, type RedisOptions, redisAsk, redisServer } from './redis.ts'
import type { Server } from './server.ts'
import { until } from './until.ts'

export interface SentinelOptions extends RedisOptions {
  /** How long the primary must be silent to count as down; default 500. */
  readonly downAfterMs?: number
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
  // Sentinels that start before the replicas are linked learn of them only 10 s later, from their next INFO.
  for (const replica of replicas) {
    await expectInfo(replica, password, /master_link_status:up/, 'is linked to its primary')
  }
  const sentinels: Server[] = []
  for (let i = 0; i < SENTINELS; i++) sentinels.push(await sentinelServer(bed, primary.port, o))
  await bed.startAll(sentinels)
  for (const sentinel of sentinels) {
    const whole = new RegExp(`name=${MASTER},status=ok,.*slaves=${replicas.length},sentinels=${SENTINELS}`)
    await expectInfo(sentinel, '', whole, 'knows all others')
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
      const said = await redisAsk(sentinel?.port ?? 0, '', ['INFO', 'sentinel'])
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
    `port ${port}`,
    `sentinel monitor ${MASTER} 127.0.0.1 ${primaryPort} 2`,
    `sentinel down-after-milliseconds ${MASTER} ${o.downAfterMs ?? 500}`,
    `sentinel failover-timeout ${MASTER} 3000`,
    `sentinel parallel-syncs ${MASTER} 1`,
    ...auth,
  ]
  await writeFile(template, `${lines.join('\n')}\n`, { mode: 0o600 })
  // Sentinel keeps all it knows in its configuration file: that file is its data, and a restart without them begins anew.
  const file = join(dir, 'data', 'sentinel.conf')
  return bed.add({
    name,
    dir,
    port,
    url: `redis://127.0.0.1:${port}`,
    command: [found.path('redis-server'), file, '--sentinel'],
    fill: () => copyFile(template, file),
    ask: async () => {
      const said = await redisAsk(port, '', ['PING'])
      if (said !== '+PONG\r\n') throw new Error(`PING was answered with ${JSON.stringify(said)}`)
    },
  })
}

async function expectInfo(server: Server, password: string, wanted: RegExp, what: string): Promise<void> {
  await until(
    async () => {
      const said = await redisAsk(server.port, password, ['INFO'])
      if (!wanted.test(said)) throw new Error(`INFO does not match ${wanted}`)
    },
    { what: `${server.name} ${what}` },
  )
}
