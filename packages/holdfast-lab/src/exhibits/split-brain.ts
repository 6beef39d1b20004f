/** Split brain: a primary that was silent for a moment comes back beside the promoted one, and both grant. */
import { redis } from 'holdfast/redis'
import { HoldfastError } from 'holdfast'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { orRefusal } from '../lab/outcomes.ts'
import { Play } from '../lab/play.ts'
import { confirming, promoted, sentinelGroup, tellAll, warmUp } from '../lab/sentinels.ts'
import type { Stage } from '../lab/stage.ts'
import { writeInTurn } from '../lab/turns.ts'

const TTL_MS = 60_000
const CONFIRM_MS = 3_000

async function run(stage: Stage): Promise<readonly Act[]> {
  const group = await sentinelGroup(stage, 2)
  const elsewhere = (await stage.redis()).url
  const bare = new Play('A asks the old primary, B the new one', 'recipe', 'harm')
  const open = new Play('the same, and nothing checks the token', 'holdfast', 'exposed')
  const fenced = new Play('the same, and what is protected checks the token', 'holdfast', 'caught')
  const confirmed = new Play(
    'the same, with { replicas: 1 }: a grant counts when a replica has it',
    'holdfast',
    'caught',
  )
  const plays = [bare, open, fenced, confirmed]
  const names = plays.map(() => stage.fresh('lock')) as [string, string, string, string]
  const strictly = { replicas: 1, replicasTimeoutMs: CONFIRM_MS }
  // The clients of A connect to the primary before it falls silent; nobody tells them of the other.
  const aHand = stage.hand('A', bare, group.primary.url)
  await aHand.ask('PING')
  const a = await stage.holdfast(group.url)
  const aStrict = await stage.holdfast(redis(group.url, strictly))
  for (const hf of [a, aStrict]) await warmUp(stage, hf)

  group.primary.pause()
  tellAll(plays, 'old primary', 'stopped (SIGSTOP): a full disk, a frozen machine, a cut line')
  const downs = plays.map((play) => play.begin('old primary', 'stopped'))
  const next = await promoted(group)
  tellAll(plays, 'new primary', 'promoted by the Sentinels')
  const ends = []
  await stage.hand('B', bare, next.url).say('SET', names[0], 'B', 'NX', 'PX', TTL_MS)
  ends.push(bare.hold('B'))
  const b = await stage.holdfast(group.url)
  const young = []
  for (const [i, play] of [open, fenced].entries()) {
    const held = await b.mutex(names[i + 1] as string, { ttlMs: TTL_MS }).acquire()
    play.step('B', `acquire() → token ${held.token}`)
    ends.push(play.hold('B'))
    young.push(held)
  }
  await confirming(next)
  const bStrict = await stage.holdfast(redis(group.url, strictly))
  const third = await orRefusal(bStrict.mutex(names[3], { ttlMs: TTL_MS }).acquire({ waitMs: 20_000 }))
  if (third instanceof HoldfastError) confirmed.step('B', `acquire() → ${third.code}`)
  else {
    confirmed.step('B', `acquire() → token ${third.token}`)
    ends.push(confirmed.hold('B'))
  }

  group.primary.resume()
  for (const end of downs) end()
  tellAll(plays, 'old primary', 'goes on (SIGCONT), and does not know that it is none any more')
  const got = await aHand.say('SET', names[0], 'A', 'NX', 'PX', TTL_MS)
  if (got === 'OK') {
    ends.push(bare.hold('A'))
    bare.harm('A', 'holds, and so does B')
  }
  const acts: Act[] = []
  for (const [i, play] of [open, fenced].entries()) {
    const held = await a.mutex(names[i + 1] as string, { ttlMs: TTL_MS }).tryAcquire()
    play.step('A', held === null ? 'tryAcquire() → null' : `tryAcquire() → token ${held.token}: the old primary grants`)
    if (held === null) {
      acts.push(play.end({ harm: { name: 'writes between two of another holder', value: 0 } }))
      continue
    }
    ends.push(play.hold('A'))
    const resource = stage.fresh('stock')
    const turns = { url: elsewhere, resource, fenced: play === fenced, old: held, young: young[i] as typeof held }
    acts.push(await writeInTurn(stage, play, turns))
  }
  const refusal = await orRefusal(aStrict.mutex(names[3], { ttlMs: TTL_MS }).tryAcquire())
  if (refusal instanceof HoldfastError) confirmed.caught('A', `tryAcquire() → ${refusal.code}: ${refusal.message}`)
  else if (refusal !== null) ends.push(confirmed.hold('A'))
  bare.step('B', 'still at work')
  confirmed.step('B', 'still at work')
  for (const end of ends) end()
  const atOnce = (play: Play, caught = 0): Act =>
    play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 }, caught })
  return [atOnce(bare), ...acts, atOnce(confirmed, refusal instanceof HoldfastError ? 1 : 0)]
}

export const splitBrain: Exhibit = {
  name: 'split-brain',
  title: 'two primaries: the one that was silent for a moment, and the one that was promoted meanwhile',
  recipe: 'SET lock value NX PX ttl, on a primary with replicas and Sentinels',
  source: 'the same as failover; the course on etcd draws it as two zones with a primary each',
  lesson:
    'Redis has no quorum for writes: a deposed primary grants until it is told. The token of one is larger, so ' +
    'what checks it serves one only; { replicas: 1 } makes the deposed one refuse.',
  servers: ['redis'],
  kind: 'deterministic',
  run,
}
