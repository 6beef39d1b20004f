/** A holder outlives its ttl and frees another's lock: one pause, and from then on everything is sold twice. */
import type { Held } from 'holdfast'
import { redisGuard } from 'holdfast/fence'
import { ActorError } from '../lab/actor/actor.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { type End, Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 500
const LONG_MS = 30_000
const STOCK = 5
/** A, which is stopped, and those behind it. */
const OTHERS = ['B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J']

interface Buyer {
  readonly name: string
  readonly ask: (...command: string[]) => Promise<unknown>
  /** The stock as this buyer has seen it. */
  readonly seen: number
  readonly leave: End
}

/**
 * Every buyer reads the stock. Then the buyer before it, late, writes and deletes the lock, which lets the next one in.
 * So two neighbours always read the same number. It never ends: the late DEL of one makes the next one late.
 */
async function recipe(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('A is stopped once while it holds; nobody else ever is', 'recipe', 'harm')
  const [lock, stock] = [stage.fresh('lock'), stage.fresh('stock')]
  const shop = stage.hand('stock', play, url)
  await shop.say('SET', stock, STOCK)
  const a = stage.actor('A')
  const ask = (...command: string[]): Promise<unknown> => a.do({ do: 'redis', url, command })
  await ask('SET', lock, '1', 'NX', 'PX', String(TTL_MS))
  const leave = play.hold('A')
  let late: Buyer = { name: 'A', ask, seen: Number(await ask('GET', stock)), leave }
  play.step('A', `SET ${lock} 1 NX PX ${TTL_MS} → OK, GET ${stock} → ${late.seen}`)
  a.stop()
  play.fault('A', 'stopped (SIGSTOP): its call to another service hangs')
  const slept = play.begin('A', 'stopped')
  let sold = 0
  const finish = async (buyer: Buyer, victim: string | null): Promise<void> => {
    const isSold = buyer.seen > 0
    if (isSold) await buyer.ask('SET', stock, String(buyer.seen - 1))
    if (isSold) sold++
    await buyer.ask('DEL', lock)
    const sale = isSold ? `SET ${stock} ${buyer.seen - 1}, sold` : 'nothing left'
    if (victim === null) play.step(buyer.name, `${sale}; DEL ${lock}`)
    else play.harm(buyer.name, `${sale}; DEL ${lock}, which is the lock of ${victim}`)
    buyer.leave()
  }
  for (const name of OTHERS) {
    const hand = stage.hand(name, play, url)
    await hand.takeWhenFree(lock, LONG_MS)
    const holds = play.hold(name)
    const seen = Number(await hand.say('GET', stock))
    const next: Buyer = { name, ask: (...command) => hand.ask(...command), seen, leave: holds }
    if (late.name === 'A') {
      a.goOn()
      slept()
    }
    await finish(late, name)
    late = next
  }
  await finish(late, null)
  const left = Number(await shop.ask('GET', stock))
  if (sold > STOCK) play.harm('stock', `${sold} sold of ${STOCK}; the stock says that ${left} are left`)
  return play.end({
    harm: { name: 'oversold by', value: Math.max(0, sold - STOCK) },
    figures: [
      { name: 'sold', value: sold, unit: `of ${STOCK}` },
      { name: 'holders at once', value: play.holdersAtOnce },
    ],
  })
}

/** `fenced`: the stock checks the token at every read and write. */
async function ours(stage: Stage, fenced: boolean): Promise<Act> {
  const { url } = await stage.redis()
  const title = `the same, and the stock ${fenced ? 'checks the token' : 'checks nothing'}`
  const play = new Play(title, 'holdfast', fenced ? 'caught' : 'exposed')
  const [line, stock] = [stage.fresh('lock'), stage.fresh('stock')]
  const shop = stage.hand('stock', play, url)
  await shop.say('SET', stock, STOCK)
  const guard = redisGuard(url)
  stage.defer(() => guard.close())
  const a = stage.actor('A')
  const ask = (...command: string[]): Promise<unknown> =>
    a.do(fenced ? { do: 'guarded', url, resource: stock, command } : { do: 'redis', url, command })
  const token = await a.do({ do: 'acquire', url, line, options: { ttlMs: TTL_MS } })
  const aHolds = play.hold('A')
  const seen = Number(await ask('GET', stock))
  await a.do({ do: 'assert' })
  play.step('A', `acquire() → token ${token}; GET ${stock} → ${seen}; assertHeld() → it is mine`)
  a.stop()
  play.fault('A', 'stopped (SIGSTOP), after its last check')
  const slept = play.begin('A', 'stopped')
  let sold = 0
  let refused = 0
  /** A continues where it was: it has checked, and now it writes. */
  const writeLate = async (): Promise<void> => {
    a.goOn()
    slept()
    try {
      await ask('SET', stock, String(seen - 1))
      sold++
      play.harm('A', `SET ${stock} ${seen - 1}, sold: nobody has looked at its token`)
    } catch (error) {
      if (!(error instanceof ActorError) || error.code !== 'HF_STALE_TOKEN') throw error
      refused++
      play.caught('A', `SET ${stock} ${seen - 1} → ${error.code}: the stock has seen a newer token`)
    }
    const state = await a.do({ do: 'state' })
    play.step('A', `state → '${state}'; release() → ${await a.do({ do: 'release' })}: the lock of B stays`)
  }
  const buy = async (name: string, held: Held): Promise<void> => {
    const askWith = (...command: [string, string, ...string[]]): Promise<unknown> =>
      fenced ? guard.call(stock, held, command) : shop.ask(...command)
    const left = Number(await askWith('GET', stock))
    play.step(name, `acquire() → token ${held.token}; GET ${stock} → ${left}`)
    if (name === 'B') await writeLate()
    if (left > 0) await askWith('SET', stock, String(left - 1))
    if (left > 0) sold++
    play.step(name, left > 0 ? `SET ${stock} ${left - 1}, sold; release()` : 'nothing left; release()')
  }
  for (const name of OTHERS) {
    const hf = await stage.holdfast(url, { label: name })
    const waited = play.begin(name, 'wait')
    const held = await hf.mutex(line, { ttlMs: LONG_MS }).acquire()
    // The lease of A is over by A's own clock before it is over by the server's.
    aHolds()
    waited()
    const holds = play.hold(name)
    await buy(name, held)
    holds()
    await held.release()
  }
  if (sold > STOCK) play.harm('stock', `${sold} sold of ${STOCK}`)
  return play.end({
    harm: { name: 'oversold by', value: Math.max(0, sold - STOCK) },
    caught: refused,
    figures: [
      { name: 'sold', value: sold, unit: `of ${STOCK}` },
      { name: 'holders at once', value: play.holdersAtOnce },
    ],
  })
}

export const flashSale: Exhibit = {
  name: 'flash-sale',
  title: 'a holder outlives its ttl and frees another’s lock: the flash sale oversells',
  recipe: 'SET lock 1 NX EX 10; read the stock; work; write the stock; DEL lock',
  source: 'the sale of a liquor that a course on etcd tells of: a check of the user took 30 s, the lock 10 s',
  lesson:
    'A lease can end while its holder sleeps. Only what the lock protects can refuse the late one: give it the ' +
    'token to check.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await recipe(stage), await ours(stage, false), await ours(stage, true)],
}
