/** A Redis primary with replicas and Sentinels, for exhibits that break it: each has a group of its own. */
import type { Holdfast } from 'holdfast'
import { redisAsk } from '../testbed/redis.ts'
import type { SentinelGroup } from '../testbed/sentinel.ts'
import type { Server } from '../testbed/server.ts'
import { until } from '../testbed/until.ts'
import type { Play } from './play.ts'
import type { Stage } from './stage.ts'

export async function sentinelGroup(stage: Stage, replicas: number): Promise<SentinelGroup> {
  const group = await (await stage.bed()).sentinel({ replicas })
  stage.defer(() => Promise.all(group.servers.map((server) => server.kill())))
  return group
}

/** Resolves with the promoted server, once every Sentinel knows it: a client may ask any of them. */
export async function promoted({ primary, sentinels, currentPrimary }: SentinelGroup): Promise<Server> {
  const seen: Server[] = []
  await until(
    async () => {
      seen.length = 0
      for (const sentinel of sentinels) seen.push(await currentPrimary(sentinel))
      if (seen.some((server) => server === primary || server !== seen[0])) throw new Error('not yet')
      const role = await redisAsk(seen[0]?.port ?? 0, '', ['INFO', 'replication'])
      if (!role.includes('role:master')) throw new Error('not promoted yet')
    },
    { what: 'the Sentinels promote a replica' },
  )
  return seen[0] as Server
}

/** Waits until the replica has a whole copy and hears of changes. */
export async function linked(replica: Server): Promise<void> {
  await until(
    async () => {
      const said = await redisAsk(replica.port, '', ['INFO', 'replication'])
      if (!said.includes('master_link_status:up')) throw new Error(said)
    },
    { what: `${replica.name} is linked to its primary` },
  )
}

/** Waits until a replica confirms what this primary writes: the stream may begin a while after the link is up. */
export async function confirming(primary: Server): Promise<void> {
  await until(
    async () => {
      const said = await redisAsk(primary.port, '', ['WAIT', '1', '200'])
      if (said.startsWith(':0')) throw new Error('no replica has confirmed')
    },
    { what: `a replica follows ${primary.name}` },
  )
}

/** Tells all acts of something that they share. */
export function tellAll(plays: readonly Play[], row: string, text: string): void {
  for (const play of plays) play.fault(row, text)
}

/** Makes sure that an instance has its connections before the fault, not after it. */
export async function warmUp(stage: Stage, hf: Holdfast): Promise<void> {
  const held = await hf.mutex(stage.fresh('warm-up')).acquire()
  await held.release()
}
