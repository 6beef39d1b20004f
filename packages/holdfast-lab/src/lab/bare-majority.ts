/** A holds by a bare majority of five, and one of its three voters forgets: the classic algorithm, and ours. */
import { HoldfastError } from 'holdfast'
import { Classic, type Council, council, cutOff, deployment, redlockUrl, wayIn } from './council.ts'
import { addresses } from './ensembles.ts'
import type { Act } from './exhibit.ts'
import { orRefusal } from './outcomes.ts'
import { type End, Play } from './play.ts'
import type { Stage } from './stage.ts'

const TTL_MS = 30_000
const TRIES = 3

export interface Forgetting {
  /** What is done to the third server. */
  readonly text: string
  forget(council: Council): Promise<void>
  /** For the exhibits that follow. */
  mend(council: Council): Promise<void>
}

export async function bareMajorityActs(stage: Stage, how: Forgetting): Promise<readonly Act[]> {
  const all = await council(stage)
  stage.defer(() => how.mend(all))
  const classic = await classicAct(stage, all, how)
  await how.mend(all)
  return [classic, await ourAct(stage, all, how)]
}

async function classicAct(stage: Stage, all: Council, how: Forgetting): Promise<Act> {
  const play = new Play(`A holds by servers 1, 2 and 3; then server 3 forgets: ${how.text}`, 'recipe', 'harm')
  const key = stage.fresh('lock')
  const way = await wayIn(stage, all.servers)
  await cutOff(way, [4, 5])
  const a = new Classic(stage, play, 'A', way.addresses)
  const b = new Classic(stage, play, 'B', addresses(all.servers))
  const ends: End[] = []
  if (await a.take(key, TTL_MS)) ends.push(play.hold('A'))
  await how.forget(all)
  play.fault('server 3', how.text)
  if (await b.take(key, TTL_MS)) ends.push(play.hold('B'))
  if (ends.length === 2) play.harm('B', 'holds by servers 3, 4 and 5, and A still does by 1 and 2 and its own clock')
  play.step('A', 'still at work')
  for (const end of ends) end()
  return play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 } })
}

async function ourAct(stage: Stage, all: Council, how: Forgetting): Promise<Act> {
  const play = new Play('the same; B knew the servers before, C did not', 'holdfast', 'caught')
  const line = stage.fresh('lock')
  const prefix = await deployment(stage, all.servers, TTL_MS)
  const way = await wayIn(stage, all.servers)
  const direct = redlockUrl(addresses(all.servers), prefix)
  const a = await stage.holdfast(redlockUrl(way.addresses, prefix))
  const b = await stage.holdfast(direct)
  const warm = await b.mutex(stage.fresh('other'), { ttlMs: TTL_MS }).acquire()
  await warm.release()
  await cutOff(way, [4, 5])
  const held = await a.mutex(line, { ttlMs: TTL_MS }).acquire()
  play.step('A', `acquire() → token ${held.token}, by servers 1, 2 and 3`)
  const ends = [play.hold('A')]
  await how.forget(all)
  play.fault('server 3', how.text)
  let refused = 0
  const asks = async (name: string, hf: typeof b): Promise<void> => {
    for (let i = 0; i < TRIES; i++) {
      const answer = await orRefusal(hf.mutex(line, { ttlMs: TTL_MS }).tryAcquire())
      if (answer !== null && !(answer instanceof HoldfastError)) {
        ends.push(play.hold(name))
        play.harm(name, `tryAcquire() → token ${answer.token}: holds, and so does A`)
        return
      }
      refused++
      play.caught(name, `tryAcquire() → ${answer === null ? 'null: A holds' : answer.code}`)
    }
  }
  await asks('B', b)
  await asks('C', await stage.holdfast(direct))
  held.assertHeld()
  play.step('A', 'assertHeld() → it is mine')
  for (const end of ends) end()
  return play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 }, caught: refused })
}
