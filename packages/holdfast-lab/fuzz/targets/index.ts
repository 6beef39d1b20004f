/** All targets, the fast ones first. */
import type { Target } from '../target.ts'
import { cli } from './cli.ts'
import { cron } from './cron.ts'
import { headers } from './headers.ts'
import { jute } from './jute.ts'
import { etcdPeer, redisPeer, zookeeperPeer } from './peers.ts'
import { protobuf } from './protobuf.ts'
import { resp } from './resp.ts'
import { redisKeys } from './redis-keys.ts'
import { sqliteRows } from './sqlite-rows.ts'
import { ticket } from './ticket.ts'
import { url } from './url.ts'

export const TARGETS: readonly Target[] = [
  ...[resp, jute, protobuf, url, cli, cron, headers, ticket],
  ...[sqliteRows, redisKeys, redisPeer, zookeeperPeer, etcdPeer],
]

export function findTarget(name: string): Target {
  const target = TARGETS.find((one) => one.name === name)
  if (target !== undefined) return target
  throw new Error(`there is no target ${JSON.stringify(name)}; there are ${TARGETS.map((one) => one.name).join(', ')}`)
}
