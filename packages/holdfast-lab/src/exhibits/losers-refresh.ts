/** Every caller sends EXPIRE, even a caller that did not get the lock. */
import type { Act, Exhibit } from '../lab/exhibit.ts'
import type { Holdfast } from 'holdfast'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 1_000
const POLL_MS = 200
/** Two and a half leases of tries. */
const TRIES = 12
/** A shorter excess is the time between two looks, not a longer lease. */
const NOISE_MS = 5

async function recipe(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('A has died; B keeps asking, and each time prolongs the lock of A', 'recipe', 'harm')
  const key = stage.fresh('lock')
  const a = stage.actor('A')
  const b = stage.hand('B', play, url)
  await a.do({ do: 'redis', url, command: ['SETNX', key, 'A'] })
  await a.do({ do: 'redis', url, command: ['PEXPIRE', key, String(TTL_MS)] })
  play.step('A', `SETNX ${key} A → 1, PEXPIRE ${key} ${TTL_MS} → 1`)
  const held = play.hold('A')
  await a.kill()
  const diedMs = play.ms
  play.fault('A', 'killed (SIGKILL)')
  held()
  const waited = play.begin('B', 'wait')
  let prolonged = 0
  let refused = 0
  while (refused < TRIES) {
    const before = Number(await b.ask('PTTL', key))
    if ((await b.ask('SETNX', key, 'B')) === 1) break
    refused++
    await b.ask('PEXPIRE', key, TTL_MS)
    const after = Number(await b.ask('PTTL', key))
    if (after > before + NOISE_MS) prolonged++
    play.step('B', `SETNX → 0, PEXPIRE ${key} ${TTL_MS} → 1: PTTL was ${before}, is ${after}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  waited()
  const overMs = play.ms - diedMs - TTL_MS
  if (prolonged > 0)
    play.harm(
      'B',
      `has kept the lock of a dead client alive for ${Math.round(overMs)} ms past its ttl, and would for ever`,
    )
  return play.end({
    harm: { name: 'times a loser prolonged the lock', value: prolonged },
    figures: [{ name: 'blocked past the ttl', value: Math.max(0, Math.round(overMs)), unit: 'ms so far' }],
  })
}

async function leftMs(hf: Holdfast, line: string): Promise<number> {
  for await (const { name, holders } of hf.list({ prefix: line })) if (name === line) return holders[0]?.leftMs ?? 0
  return 0
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('A has died; B keeps asking', 'holdfast', 'impossible')
  const line = stage.fresh('lock')
  const a = stage.actor('A')
  const b = await stage.holdfast(url)
  await a.do({ do: 'acquire', url, line, options: { ttlMs: TTL_MS } })
  play.step('A', `mutex('${line}', { ttlMs: ${TTL_MS} }).acquire() → held`)
  const held = play.hold('A')
  await a.kill()
  play.fault('A', 'killed (SIGKILL)')
  held()
  const waited = play.begin('B', 'wait')
  let prolonged = 0
  for (;;) {
    const before = await leftMs(b, line)
    const got = await b.mutex(line).tryAcquire()
    if (got !== null) {
      waited()
      play.step('B', 'tryAcquire() → held')
      const holds = play.hold('B')
      await got.release()
      play.step('B', 'release()')
      holds()
      break
    }
    const after = await leftMs(b, line)
    if (after > before + NOISE_MS) prolonged++
    play.step('B', `tryAcquire() → null: the lease had ${Math.round(before)} ms left, and has ${Math.round(after)}`)
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return play.end({ harm: { name: 'times a loser prolonged the lock', value: prolonged } })
}

export const losersRefresh: Exhibit = {
  name: 'losers-refresh',
  title: 'EXPIRE refreshed by those who did not get the lock',
  recipe: 'SETNX lock value; EXPIRE lock 1, whatever SETNX said',
  source:
    'the same tutorials, which name this as the second flaw; Distributed-Kit, the kit that one of them ' +
    'recommends, has it',
  lesson: 'Only the owner may prolong a lease: whoever prolongs has to prove by its id that the lock is its own.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await recipe(stage), await ours(stage)],
}
