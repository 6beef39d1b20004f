/** SETNX, then EXPIRE, and a crash between the two. */
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { orphan } from '../lab/orphan.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 1_000
const TRIES = 4

async function recipe(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('A dies after SETNX, before EXPIRE', 'recipe', 'harm')
  const key = stage.fresh('lock')
  const a = stage.actor('A')
  const b = stage.hand('B', play, url)
  const reply = await a.do({ do: 'redis', url, command: ['SETNX', key, 'A'] })
  play.step('A', `SETNX ${key} A → ${reply}`)
  const held = play.hold('A')
  await a.kill()
  play.fault('A', 'killed (SIGKILL); EXPIRE was the next line of its program')
  held()
  const waited = play.begin('B', 'wait')
  let refused = 0
  for (let i = 0; i < TRIES; i++) {
    if ((await b.say('SETNX', key, 'B')) === 0) refused++
    // Each try comes a whole lease after the last: with an expiry the second try would have got the lock.
    if (i < TRIES - 1) await new Promise((resolve) => setTimeout(resolve, TTL_MS))
  }
  waited()
  const left = Number(await b.say('PTTL', key))
  if (left === -1) play.harm('B', 'PTTL -1: it has no expiry, so nobody ever gets it again')
  return play.end({
    harm: { name: 'locks left for ever', value: left === -1 ? 1 : 0 },
    figures: [
      { name: 'refused', value: refused, unit: `of ${TRIES} tries` },
      { name: 'blocked so far', value: Math.round(play.ms), unit: `ms, with a ttl of ${TTL_MS} ms in mind` },
    ],
  })
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  return orphan(stage, url, {
    title: 'A dies at once after its grant',
    ttlMs: TTL_MS,
    held: 'lock and lease are one step',
    lapsed: 'the lease of A has lapsed',
  })
}

export const setnxExpire: Exhibit = {
  name: 'setnx-expire',
  title: 'SETNX, then EXPIRE, and a crash between the two',
  recipe: 'SETNX lock value; EXPIRE lock 1; work; DEL lock',
  source: 'tutorials on Redis locks from before 2.6.12, and many since; the better ones name this very flaw',
  lesson: 'What must be true together is written in one step: the lock and its lease.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await recipe(stage), await ours(stage)],
}
