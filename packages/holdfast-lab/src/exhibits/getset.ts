/** SETNX with the end of the lease as the value, and GETSET by a client that finds this end past. */
import { system } from 'holdfast/internal'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import type { Hand } from '../lab/hand.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 30_000
/** How much the clock of B is ahead. */
const AHEAD_MS = 60_000

/** Both find it expired, both overwrite it, and only one of them learns that it was first. */
async function overwritten(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play(
    'A wins the race for an expired lock; B, who loses it, moves the end of A’s lock',
    'recipe',
    'harm',
  )
  const lock = stage.fresh('lock')
  const [a, b] = [stage.hand('A', play, url), stage.hand('B', play, url)]
  const now = Date.now()
  await a.ask('SET', lock, now - 1_000)
  const short = (at: unknown): string => `now${Number(at) >= now ? '+' : ''}${Number(at) - now}`
  const [aSees, bSees] = [await a.ask('GET', lock), await b.ask('GET', lock)]
  play.step('A', `GET ${lock} → ${short(aSees)} ms: expired`)
  play.step('B', `GET ${lock} → ${short(bSees)} ms: expired`)
  const [aEnd, bEnd] = [String(now + 5_000), String(now + 9_000)]
  const aWas = await a.ask('GETSET', lock, aEnd)
  play.step('A', `GETSET ${lock} ${short(aEnd)} → ${short(aWas)}: what it saw, so A holds for 5 s`)
  const holds = play.hold('A')
  const bWas = await b.ask('GETSET', lock, bEnd)
  play.step('B', `GETSET ${lock} ${short(bEnd)} → ${short(bWas)}: not what it saw, so B has lost`)
  const stored = await a.ask('GET', lock)
  const movedMs = Number(stored) - Number(aEnd)
  if (movedMs !== 0) play.harm('A', `GET ${lock} → ${short(stored)} ms: the lock of A now ends ${movedMs} ms later`)
  holds()
  return play.end({ harm: { name: 'moved by a loser', value: Math.abs(movedMs), unit: 'ms' } })
}

/** One try by the recipe, by this client's own clock. */
async function tryGetset(hand: Hand, play: Play, lock: string, now: number): Promise<boolean> {
  const until = String(now + TTL_MS)
  if ((await hand.ask('SETNX', lock, until)) === 1) return true
  const seen = await hand.ask('GET', lock)
  if (Number(seen) > now) return false
  play.step(hand.name, `GET ${lock} → it ended ${now - Number(seen)} ms ago, says the clock of ${hand.name}`)
  return (await hand.ask('GETSET', lock, until)) === seen
}

async function skewed(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('the clock of B is a minute ahead', 'recipe', 'harm')
  const lock = stage.fresh('lock')
  const [a, b] = [stage.hand('A', play, url), stage.hand('B', play, url)]
  const ends = []
  for (const [hand, skewMs] of [
    [a, 0],
    [b, AHEAD_MS],
  ] as const) {
    if (skewMs > 0) play.fault(hand.name, `its clock is ${AHEAD_MS} ms ahead`)
    const got = await tryGetset(hand, play, lock, Date.now() + skewMs)
    play.step(hand.name, got ? `holds for ${TTL_MS} ms` : 'does not get it')
    if (got) ends.push(play.hold(hand.name))
  }
  if (ends.length > 1) play.harm('B', 'holds, and so does A')
  play.step('A', 'still at work')
  for (const end of ends) end()
  return play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 } })
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('the clock of B is a minute ahead', 'holdfast', 'impossible')
  const line = stage.fresh('lock')
  const a = await stage.holdfast(url)
  const b = await stage.holdfast(url, { runtime: { ...system, wallNow: () => Date.now() + AHEAD_MS } })
  const aHeld = await a.mutex(line, { ttlMs: TTL_MS }).acquire()
  play.step('A', `mutex('${line}', { ttlMs: ${TTL_MS} }).acquire() → held`)
  const aHolds = play.hold('A')
  play.fault('B', `its clock is ${AHEAD_MS} ms ahead`)
  const bHeld = await b.mutex(line, { ttlMs: TTL_MS }).tryAcquire()
  play.step('B', `tryAcquire() → ${bHeld === null ? 'null: leases are judged by the clock of the server' : 'held'}`)
  const bHolds = bHeld === null ? null : play.hold('B')
  aHeld.assertHeld()
  play.step('A', 'assertHeld() → it is mine')
  aHolds()
  bHolds?.()
  return play.end({ harm: { name: 'holders at once', value: play.holdersAtOnce, fine: 1 } })
}

export const getset: Exhibit = {
  name: 'getset',
  title: 'time-outs by GETSET: the loser moves them, and clocks that differ break them',
  recipe: 'SETNX lock end; if GET lock < now then GETSET lock newEnd, and it is mine if that gives what GET gave',
  source: 'tutorials, as the second cure for SETNX then EXPIRE',
  lesson:
    'A time that clients write and compare is only as good as the worst of their clocks. The store judges, by its own.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await overwritten(stage), await skewed(stage), await ours(stage)],
}
