/**
 * The act that follows every lock left for ever: with Holdfast, the place of a killed holder lapses, and the next
 * waiter is served.
 */
import type { Act } from './exhibit.ts'
import { orNull } from './outcomes.ts'
import { Play } from './play.ts'
import type { Stage } from './stage.ts'

/** How many leases B waits before the lock counts as left for ever. */
const LEASES = 40

interface Story {
  readonly title: string
  readonly ttlMs: number
  /** Why A's lock is not the recipe's. */
  readonly held: string
  /** Why B gets it. */
  readonly lapsed: string
}

export async function orphan(stage: Stage, url: string, { title, ttlMs, held, lapsed }: Story): Promise<Act> {
  const play = new Play(title, 'holdfast', 'impossible')
  const line = stage.fresh('lock')
  const b = await stage.holdfast(url)
  await b.setup()
  const a = stage.actor('A')
  await a.do({ do: 'acquire', url, line, options: { ttlMs } })
  play.step('A', `mutex('${line}', { ttlMs: ${ttlMs} }).acquire() → held: ${held}`)
  const holding = play.hold('A')
  await a.kill()
  play.fault('A', 'killed (SIGKILL)')
  holding()
  const began = play.ms
  const waited = play.begin('B', 'wait')
  const next = await orNull(b.mutex(line).acquire({ waitMs: LEASES * ttlMs }))
  waited()
  const blockedMs = play.ms - began
  if (next === null) play.harm('B', `acquire() → not within ${LEASES} leases`)
  else {
    play.step('B', `acquire() → held: ${lapsed}`)
    const holds = play.hold('B')
    await next.release()
    play.step('B', 'release()')
    holds()
  }
  return play.end({
    harm: { name: 'locks left for ever', value: next === null ? 1 : 0 },
    figures: [{ name: 'blocked', value: Math.round(blockedMs), unit: `ms, with a ttl of ${ttlMs} ms` }],
  })
}
