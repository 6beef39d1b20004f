/** The acts that etcd and ZooKeeper share when one of three servers is cut off. */
import { type Holdfast, HoldfastError } from 'holdfast'
import type { Ensemble } from './ensembles.ts'
import type { Act } from './exhibit.ts'
import { orRefusal } from './outcomes.ts'
import { Play } from './play.ts'
import type { Stage } from './stage.ts'

/** A client of the store that follows the recipe by hand, on one side of the cut. */
export interface Side {
  /** Creates the lock if it does not exist; returns whether it did so. Rejects if no answer comes in time. */
  take(key: string, owner: string): Promise<boolean>
  /** Gives the lock to another owner. */
  pass(key: string, owner: string): Promise<void>
  /** Who holds the lock, from what this server knows by itself. */
  look(key: string): Promise<string>
}

export interface Minority {
  readonly lone: Side
  readonly major: Side
  /** The name of the local read. */
  readonly localRead: string
  readonly holdfast: { readonly lone: Holdfast; readonly major: Holdfast }
  readonly ttlMs: number
  readonly ensemble: Ensemble
}

export async function minorityActs(stage: Stage, m: Minority): Promise<readonly Act[]> {
  const quorum = new Play('A asks the server that was cut off, B the other two', 'remedy', 'no harm')
  const stale = new Play(`who holds it? A asks the server that was cut off, by ${m.localRead}`, 'recipe', 'harm')
  const ours = new Play('A holds, at the server that is cut off; B waits at the other two', 'holdfast', 'caught')
  const [free, owned, line] = [stage.fresh('free'), stage.fresh('owned'), stage.fresh('line')]
  await m.lone.take(owned, 'A')
  stale.step('A', `takes ${owned}; a look says that ${await m.lone.look(owned)} holds it`)
  const held = await m.holdfast.lone.mutex(line, { ttlMs: m.ttlMs }).acquire()
  ours.step('A', `acquire() → token ${held.token}`)
  const aHolds = ours.hold('A')
  const followed = async (): Promise<void> => {
    const waited = ours.begin('B', 'wait')
    const { token } = await m.holdfast.major.mutex(line, { ttlMs: 60_000 }).acquire()
    waited()
    ours.step('B', `acquire() → token ${token}; the state of A is '${held.state}'`)
    // By A's clock, not by its timers: what A would hear if it asked.
    if (held.state === 'lost') aHolds()
    ours.hold('B')
  }
  const following = Promise.allSettled([followed()])
  await standsInLine(m.holdfast.major, line)
  let caught = 0
  const lost = new Promise<void>((resolve) => {
    held.signal.addEventListener('abort', () => {
      aHolds()
      caught++
      ours.caught('A', `its signal aborts: by its own clock the lease may be over, and its state is '${held.state}'`)
      resolve()
    })
  })

  // Heal also if the exhibit fails, because other exhibits follow on the same servers.
  stage.defer(() => m.ensemble.heal())
  await m.ensemble.cut()
  const downs = [quorum, stale, ours].map((play) => {
    play.fault('server 1', 'cut off from the other two, not from its clients')
    return play.begin('server 1', 'down')
  })
  const asked = async (): Promise<void> => {
    const answer = await orRefusal(m.holdfast.lone.mutex(stage.fresh('other')).tryAcquire())
    if (!(answer instanceof HoldfastError)) return
    caught++
    ours.caught('A', `tryAcquire() of another line → ${answer.code}`)
  }
  const asking = Promise.allSettled([asked()])
  await m.ensemble.majority()
  // Read first, and soon: a server that has noticed the cut does not even serve reads.
  await m.major.pass(owned, 'B')
  stale.step('B', `takes ${owned} over, from a majority`)
  const told = await m.lone.look(owned)
  if (told === 'A') stale.harm('A', `is told that A holds ${owned}`)
  else stale.step('A', `is told that ${told} holds it`)
  const refused = await orRefusal(m.lone.take(free, 'A'))
  const aGot = refused instanceof Error ? false : refused
  quorum.step('A', refused instanceof Error ? 'asks for the lock → no answer in time: there is no majority' : 'holds')
  const ends = aGot ? [quorum.hold('A')] : []
  const bGot = await m.major.take(free, 'B')
  quorum.step('B', `asks for the lock → ${bGot ? 'holds' : 'refused'}`)
  if (bGot) ends.push(quorum.hold('B'))
  for (const each of [...(await following), ...(await asking)]) if (each.status === 'rejected') throw each.reason
  await lost
  ours.step('B', 'at work, alone')
  quorum.step('B', 'at work, alone')
  for (const end of [...ends, ...downs]) end()
  return [
    quorum.end({ harm: { name: 'holders at once', value: quorum.holdersAtOnce, fine: 1 } }),
    stale.end({ harm: { name: 'stale answers', value: told === 'A' ? 1 : 0 } }),
    ours.end({ harm: { name: 'holders at once', value: ours.holdersAtOnce, fine: 1 }, caught }),
  ]
}

async function standsInLine(hf: Holdfast, line: string): Promise<void> {
  for (;;) {
    for await (const { name, waiters } of hf.list({ prefix: line })) if (name === line && waiters.length > 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
