/** GET, compare, DEL: one step checks the owner, and the next deletes the key, which may belong to another by then. */
import type { Act, Exhibit } from '../lab/exhibit.ts'
import type { Hand } from '../lab/hand.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 300
/** Nobody but A may lapse during the exhibit. */
const LONG_MS = 30_000

async function recipe(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('the lease of A ends between its GET and its DEL', 'recipe', 'harm')
  const key = stage.fresh('lock')
  const [a, b, c] = ['A', 'B', 'C'].map((name) => stage.hand(name, play, url)) as [Hand, Hand, Hand]
  await a.say('SET', key, 'A', 'NX', 'PX', TTL_MS)
  const aHolds = play.hold('A')
  await a.say('GET', key)
  play.step('A', 'it is mine; now DEL … but the thread is not scheduled for a moment')
  await b.takeWhenFree(key, LONG_MS)
  aHolds()
  const bHolds = play.hold('B')
  const deleted = await a.say('DEL', key)
  if (deleted === 1) play.harm('A', 'has deleted the lock of B')
  const cGot = await c.say('SET', key, 'C', 'NX', 'PX', LONG_MS)
  const cHolds = cGot === 'OK' ? play.hold('C') : null
  if (cHolds !== null) play.harm('C', 'holds, and so does B')
  play.step('B', 'still at work')
  for (const end of [bHolds, cHolds]) end?.()
  return play.end({
    harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 },
    figures: [{ name: 'locks of others deleted', value: Number(deleted) }],
  })
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('A releases after its lease has ended', 'holdfast', 'impossible')
  const line = stage.fresh('lock')
  const [a, b, c] = [await stage.holdfast(url), await stage.holdfast(url), await stage.holdfast(url)]
  const aHeld = await a.mutex(line, { ttlMs: TTL_MS, renew: false }).acquire()
  play.step('A', `mutex('${line}', { ttlMs: ${TTL_MS}, renew: false }).acquire() → held`)
  const aHolds = play.hold('A')
  const waited = play.begin('B', 'wait')
  const bHeld = await b.mutex(line, { ttlMs: LONG_MS }).acquire()
  // By its own clock, A ended before B began.
  if (aHeld.state === 'lost') aHolds()
  waited()
  play.step('B', `acquire() → held, after waiting; A knows: its state is '${aHeld.state}'`)
  const bHolds = play.hold('B')
  const was = await aHeld.release()
  play.step('A', `release() → ${was}: it is compared and deleted in one step, by an id that nobody else has`)
  aHolds()
  const cHeld = await c.mutex(line).tryAcquire()
  play.step('C', `tryAcquire() → ${cHeld === null ? 'null: B holds' : 'held'}`)
  const cHolds = cHeld === null ? null : play.hold('C')
  bHeld.assertHeld()
  play.step('B', 'assertHeld() → it is still mine')
  for (const end of [bHolds, cHolds]) end?.()
  return play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 } })
}

export const getThenDel: Exhibit = {
  name: 'get-then-del',
  title: 'the owner is compared in one step, and the key deleted in the next',
  recipe: 'if GET lock = mine then DEL lock',
  source: 'the unlock of most first tries; tutorials show it in order to replace it by a Lua script',
  lesson: 'Compare and delete are one step, or the lock that is deleted may be another’s.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await recipe(stage), await ours(stage)],
}
