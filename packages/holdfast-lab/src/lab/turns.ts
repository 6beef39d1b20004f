/**
 * Two clients that both believe that they hold: each writes in turn, to something that checks the token or does not.
 */
import { type Held, StaleTokenError } from 'holdfast'
import { redisGuard } from 'holdfast/fence'
import type { Act } from './exhibit.ts'
import type { Play } from './play.ts'
import type { Stage } from './stage.ts'

interface Turns {
  /** The Redis with the protected thing: not the one that failed. */
  readonly url: string
  readonly resource: string
  readonly fenced: boolean
  /** The hold of A, and that of B, which came later. */
  readonly old: Held
  readonly young: Held
}

/** B writes, A writes, B writes: a write between the two writes of the other has done harm. */
export async function writeInTurn(
  stage: Stage,
  play: Play,
  { url, resource, fenced, old, young }: Turns,
): Promise<Act> {
  const guard = redisGuard(url)
  stage.defer(() => guard.close())
  const bare = stage.hand('write', play, url)
  const accepted: string[] = []
  let refused = 0
  for (const [name, held] of [
    ['B', young],
    ['A', old],
    ['B', young],
  ] as const) {
    try {
      if (fenced) await guard.call(resource, held, ['SET', resource, name])
      else await bare.ask('SET', resource, name)
      accepted.push(name)
      play.step(name, `writes${fenced ? ` with token ${held.token}` : ', and nothing asks for its token'}`)
    } catch (error) {
      if (!(error instanceof StaleTokenError)) throw error
      refused++
      play.caught(name, `writes with token ${held.token} → ${error.code}: ${error.newest} was seen`)
    }
  }
  // A write of A is between only if B got through both before and after it.
  const between = accepted.join('') === 'BAB' ? 1 : 0
  if (between > 0) play.harm('A', 'has written between two writes of B')
  return play.end({
    harm: { name: 'writes between two of another holder', value: between },
    caught: refused,
    figures: [{ name: 'believed to hold at once', value: play.holdersAtOnce }],
  })
}
