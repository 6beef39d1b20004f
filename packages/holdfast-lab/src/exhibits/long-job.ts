/** The job that takes longer than its lock: with and without a watchdog, with and without fencing. */
import { HoldfastError, LockLostError } from 'holdfast'
import { redisGuard } from 'holdfast/fence'
import { KEEP } from '../torture/mutants/bench.ts'
import { ActorError } from '../lab/actor/actor.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { type End, Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const SHORT_MS = 300
/** Long enough for a loaded machine to renew in time. */
const TTL_MS = 3_000
/** More than two leases. */
const JOB_MS = 7_000
const LONG_MS = 60_000
const AT_ONCE = 'holders at once'

async function unwatched(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('no watchdog', 'recipe', 'harm')
  const lock = stage.fresh('lock')
  const [a, b] = [stage.hand('A', play, url), stage.hand('B', play, url)]
  await a.say('SET', lock, 'A', 'NX', 'PX', SHORT_MS)
  const ends: End[] = [play.hold('A')]
  play.step('A', 'begins a job that takes longer than that')
  await b.takeWhenFree(lock, LONG_MS)
  ends.push(play.hold('B'))
  play.harm('B', 'holds, and A is still at work')
  play.step('A', 'ends its job')
  for (const end of ends) end()
  return play.end({ harm: { name: AT_ONCE, value: play.holdersAtOnce, fine: 1 } })
}

/** Somebody else asks again and again while the job lasts. */
async function besieged(play: Play, ask: () => Promise<boolean>): Promise<number> {
  const waited = play.begin('B', 'wait')
  let refused = 0
  const until = play.ms + JOB_MS
  while (play.ms < until) {
    if (await ask()) {
      play.hold('B')
      play.harm('B', 'holds, and A is still at work')
      break
    }
    refused++
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  waited()
  return refused
}

async function watchdogByHand(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('a watchdog by hand: every third of the ttl, prolong it if it is mine', 'remedy', 'no harm')
  const lock = stage.fresh('lock')
  const [a, b] = [stage.hand('A', play, url), stage.hand('B', play, url)]
  await a.say('SET', lock, 'A', 'NX', 'PX', TTL_MS)
  const held = play.hold('A')
  let renewed = 0
  const renew = async (): Promise<void> => {
    try {
      await a.run(KEEP, [lock], ['A', String(TTL_MS)])
      renewed++
    } catch (error) {
      // An error of the watchdog goes unnoticed. That is what is wrong with most watchdogs, but not what is shown here.
      if (!(error instanceof HoldfastError)) throw error
    }
  }
  const timer = setInterval(() => void renew(), TTL_MS / 3)
  stage.defer(() => clearInterval(timer))
  const refused = await besieged(play, () => b.take(lock, LONG_MS))
  clearInterval(timer)
  play.step('A', `ends its job after ${JOB_MS} ms; its lease was prolonged ${renewed} times`)
  held()
  return play.end({
    harm: { name: AT_ONCE, value: play.holdersAtOnce, fine: 1 },
    figures: [{ name: 'refused to B', value: refused, unit: 'tries' }],
  })
}

async function renewed(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('renewed by itself, as long as the process lives', 'holdfast', 'impossible')
  const line = stage.fresh('lock')
  const [a, b] = [await stage.holdfast(url), await stage.holdfast(url)]
  const held = await a.mutex(line, { ttlMs: TTL_MS }).acquire()
  play.step('A', `mutex('${line}', { ttlMs: ${TTL_MS} }).acquire() → held`)
  const holds = play.hold('A')
  const refused = await besieged(play, async () => (await b.mutex(line).tryAcquire()) !== null)
  play.step('A', `ends its job after ${JOB_MS} ms: its state is '${held.state}', release() → ${await held.release()}`)
  holds()
  return play.end({
    harm: { name: AT_ONCE, value: play.holdersAtOnce, fine: 1 },
    figures: [{ name: 'refused to B', value: refused, unit: 'tries' }],
  })
}

async function fixedLease(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('no watchdog: { renew: false }, and a job that looks before it writes', 'holdfast', 'caught')
  const line = stage.fresh('lock')
  const [a, b] = [await stage.holdfast(url), await stage.holdfast(url)]
  const held = await a.mutex(line, { ttlMs: SHORT_MS, renew: false }).acquire()
  play.step('A', `mutex('${line}', { ttlMs: ${SHORT_MS}, renew: false }).acquire() → held`)
  const holds = play.hold('A')
  const waited = play.begin('B', 'wait')
  await b.mutex(line, { ttlMs: LONG_MS }).acquire()
  if (held.state === 'lost') holds()
  waited()
  play.step('B', 'acquire() → held')
  const bHolds = play.hold('B')
  let caught = 0
  try {
    held.assertHeld()
    play.harm('A', 'assertHeld() → it is mine')
  } catch (error) {
    if (!(error instanceof LockLostError)) throw error
    caught++
    play.caught('A', `assertHeld() → ${error.code}; its signal has aborted: ${held.signal.aborted}`)
  }
  for (const end of [holds, bHolds]) end()
  return play.end({ harm: { name: AT_ONCE, value: play.holdersAtOnce, fine: 1 }, caught })
}

/** The watchdog sleeps with the process; B gets in, and A writes when it wakes. */
async function asleep(stage: Stage, fenced: boolean): Promise<Act> {
  const { url } = await stage.redis()
  const title =
    `the process itself is stopped, its watchdog with it; what is protected ` +
    (fenced ? 'checks the token' : 'checks nothing')
  const play = new Play(title, 'holdfast', fenced ? 'caught' : 'exposed')
  const [line, file] = [stage.fresh('lock'), stage.fresh('report')]
  const a = stage.actor('A')
  const b = await stage.holdfast(url)
  const guard = redisGuard(url)
  const bare = stage.hand('B', play, url)
  stage.defer(() => guard.close())
  await a.do({ do: 'acquire', url, line, options: { ttlMs: SHORT_MS } })
  await a.do({ do: 'assert' })
  play.step('A', 'acquire() → held; assertHeld() → it is mine')
  const aHolds = play.hold('A')
  a.stop()
  play.fault('A', 'stopped (SIGSTOP)')
  const slept = play.begin('A', 'stopped')
  const waited = play.begin('B', 'wait')
  const held = await b.mutex(line, { ttlMs: LONG_MS }).acquire()
  aHolds()
  waited()
  const bHolds = play.hold('B')
  const write = (): Promise<unknown> =>
    fenced ? guard.call(file, held, ['APPEND', file, 'B']) : bare.ask('APPEND', file, 'B')
  await write()
  play.step('B', 'acquire() → held; writes the first half of its report')
  a.goOn()
  slept()
  const command = ['APPEND', file, 'A']
  let caught = 0
  try {
    await a.do(fenced ? { do: 'guarded', url, resource: file, command } : { do: 'redis', url, command })
    play.step('A', 'goes on (SIGCONT), and writes its report')
  } catch (error) {
    if (!(error instanceof ActorError) || error.code !== 'HF_STALE_TOKEN') throw error
    caught++
    play.caught('A', `goes on (SIGCONT), and writes its report → ${error.code}`)
  }
  await write()
  const text = await bare.ask('GET', file)
  play.step('B', `writes the second half: the file says ${JSON.stringify(text)}`)
  const between = text === 'BB' ? 0 : 1
  if (between > 0) play.harm('A', 'has written into the middle of the report of B')
  bHolds()
  return play.end({ harm: { name: 'writes between two of another holder', value: between }, caught })
}

export const longJob: Exhibit = {
  name: 'long-job',
  title: 'the job that takes longer than its lock, with and without watchdog and fencing',
  recipe: 'SET lock value NX PX ttl; a job that takes longer; compare and delete',
  source: 'the question that the course on etcd ends with: the lock lasts 10 s, and the job may take longer',
  lesson:
    'A watchdog keeps a lock that is at work; it stops with the process that it lives in. What then remains is ' +
    'the token, and somebody who checks it.',
  servers: ['redis'],
  kind: 'deterministic',
  async run(stage) {
    const [byHand, byItself] = await Promise.all([watchdogByHand(stage), renewed(stage)])
    const others = [await fixedLease(stage), await asleep(stage, false), await asleep(stage, true)]
    return [await unwatched(stage), byHand, byItself, ...others]
  },
}
