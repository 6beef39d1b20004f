/** Asynchronous replication: the primary says OK and dies, and the replica that follows has never heard of the lock. */
import type { Held } from 'holdfast'
import { redis } from 'holdfast/redis'
import { faultProxy } from '../testbed/proxy.ts'
import { redisAsk } from '../testbed/redis.ts'
import type { Server } from '../testbed/server.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { orRefusal } from '../lab/outcomes.ts'
import { Play } from '../lab/play.ts'
import { linked, promoted, sentinelGroup, tellAll } from '../lab/sentinels.ts'
import type { Stage } from '../lab/stage.ts'
import { writeInTurn } from '../lab/turns.ts'

const TTL_MS = 60_000

/** One failover, and four pairs of clients that go through it. */
async function run(stage: Stage): Promise<readonly Act[]> {
  const group = await sentinelGroup(stage, 1)
  const elsewhere = (await stage.redis()).url
  const bare = new Play('A holds; the primary dies before its replica hears of it', 'recipe', 'harm')
  const open = new Play('the same failover, and nothing checks the token', 'holdfast', 'exposed')
  const fenced = new Play('the same failover, and what is protected checks the token', 'holdfast', 'caught')
  const confirmed = new Play(
    'the same failover, with { replicas: 1 }: a grant counts when a replica has it',
    'holdfast',
    'caught',
  )
  const plays = [bare, open, fenced, confirmed]
  const names = plays.map(() => stage.fresh('lock')) as [string, string, string, string]
  await holdBack(stage, group.primary, group.replicas[0] as Server)
  tellAll(plays, 'replica', 'what the primary sends it is on its way, and does not arrive')

  await stage.hand('A', bare, group.primary.url).say('SET', names[0], 'A', 'NX', 'PX', TTL_MS)
  const ends = [bare.hold('A')]
  const a = await stage.holdfast(group.url)
  const first: Held[] = []
  for (const [i, play] of [open, fenced].entries()) {
    const held = await a.mutex(names[i + 1] as string, { ttlMs: TTL_MS }).acquire()
    play.step('A', `acquire() → token ${held.token}`)
    ends.push(play.hold('A'))
    first.push(held)
  }
  const strict = await stage.holdfast(redis(group.url, { replicas: 1, replicasTimeoutMs: 300 }))
  const refusal = await orRefusal(strict.mutex(names[3], { ttlMs: TTL_MS }).acquire({ waitMs: 5_000 }))
  if (refusal instanceof Error) confirmed.caught('A', `acquire() → ${refusal.code}: ${refusal.message}`)
  else ends.push(confirmed.hold('A'))

  await group.primary.kill()
  tellAll(plays, 'primary', 'killed (SIGKILL)')
  const downs = plays.map((play) => play.begin('primary', 'down'))
  const next = await promoted(group)
  tellAll(plays, 'replica', 'promoted by the Sentinels')

  await stage.hand('B', bare, next.url).say('SET', names[0], 'B', 'NX', 'PX', TTL_MS)
  ends.push(bare.hold('B'))
  bare.harm('B', 'holds, and A still believes that it does')
  const b = await stage.holdfast(group.url)
  const acts: Act[] = []
  for (const [i, play] of [open, fenced].entries()) {
    const held = await b.mutex(names[i + 1] as string, { ttlMs: TTL_MS }).acquire()
    play.step(
      'B',
      `acquire() → token ${held.token}, which is ${held.token > (first[i] as Held).token ? 'larger' : 'NOT larger'}`,
    )
    ends.push(play.hold('B'))
    const resource = stage.fresh('stock')
    acts.push(
      await writeInTurn(stage, play, {
        url: elsewhere,
        resource,
        fenced: play === fenced,
        old: first[i] as Held,
        young: held,
      }),
    )
  }
  const third = await b.mutex(names[3], { ttlMs: TTL_MS }).acquire()
  confirmed.step('B', `acquire() → token ${third.token}`)
  ends.push(confirmed.hold('B'))
  bare.step('A', 'still at work')
  confirmed.step('B', 'at work, alone')
  for (const end of [...ends, ...downs]) end()
  const atOnce = (play: Play, caught = 0): Act =>
    play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 }, caught })
  return [atOnce(bare), ...acts, atOnce(confirmed, refusal instanceof Error ? 1 : 0)]
}

/** From now on the replica gets nothing: its connection is slow for as long as the exhibit lasts. */
async function holdBack(stage: Stage, primary: Server, replica: Server): Promise<void> {
  const proxy = await faultProxy({ port: primary.port })
  stage.defer(() => proxy.close())
  await redisAsk(replica.port, '', ['REPLICAOF', proxy.host, String(proxy.port)])
  await linked(replica)
  await proxy.set({ toClient: 'hold' })
}

export const failover: Exhibit = {
  name: 'failover',
  title: 'asynchronous replication: the replica that takes over has never heard of the lock',
  recipe: 'SET lock value NX PX ttl, on a primary with a replica and Sentinels',
  source: 'everybody who adds a replica to the recipe above for high availability; all the tutorials warn of it',
  lesson:
    'What the primary acknowledged may be lost with it. Tokens still rise, so that what checks them is safe; { ' +
    'replicas } narrows the gap and does not close it.',
  servers: ['redis'],
  kind: 'deterministic',
  run,
}
