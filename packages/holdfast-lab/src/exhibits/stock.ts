/** Get-and-compare under a lock, against one atomic decrement without any. */
import { StaleTokenError } from 'holdfast'
import { script } from 'holdfast/internal'
import { redisGuard } from 'holdfast/fence'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 300
const LONG_MS = 30_000
/** The case of the tutorial: ten in stock, A wants six and B five. */
const CASE = { stock: 10, a: 6, b: 5 } as const

const TAKE = script(
  `if tonumber(redis.call('GET', KEYS[1])) < tonumber(ARGV[1]) then return 0 end redis.call('DECRBY', KEYS[1], ` +
    `ARGV[1]) return 1`,
)

function oversold(sold: number, stock: number = CASE.stock): { readonly name: string; readonly value: number } {
  return { name: 'oversold by', value: Math.max(0, sold - stock) }
}

async function compared(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('GET, compare, DECRBY under a lock whose lease is too short', 'recipe', 'harm')
  const [lock, stock] = [stage.fresh('lock'), stage.fresh('stock')]
  const [a, b] = [stage.hand('A', play, url), stage.hand('B', play, url)]
  await a.ask('SET', stock, CASE.stock)
  await a.say('SET', lock, 'A', 'NX', 'PX', TTL_MS)
  const aHolds = play.hold('A')
  const aSees = Number(await a.say('GET', stock))
  await b.takeWhenFree(lock, LONG_MS)
  const bHolds = play.hold('B')
  const bSees = Number(await b.say('GET', stock))
  let sold = 0
  for (const [hand, sees, wants] of [
    [a, aSees, CASE.a],
    [b, bSees, CASE.b],
  ] as const) {
    if (sees < wants) continue
    await hand.say('DECRBY', stock, wants)
    sold += wants
  }
  const left = Number(await b.ask('GET', stock))
  if (sold > CASE.stock) play.harm('B', `${sold} of ${CASE.stock} sold; the stock says ${left}`)
  aHolds()
  bHolds()
  return play.end({ harm: oversold(sold), figures: [{ name: 'stock left', value: left }] })
}

async function atomic(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play('no lock: compare and decrement in one Lua script', 'remedy', 'no harm')
  const stock = stage.fresh('stock')
  let sold = 0
  for (const [name, wants] of [
    ['A', CASE.a],
    ['B', CASE.b],
  ] as const) {
    const hand = stage.hand(name, play, url)
    if (name === 'A') await hand.ask('SET', stock, CASE.stock)
    const taken = Number(await hand.run(TAKE, [stock], [String(wants)]))
    play.step(name, `EVAL "if stock >= ${wants} then DECRBY ${wants}" → ${taken}`)
    sold += taken * wants
  }
  return play.end({ harm: oversold(sold), figures: [{ name: 'sold', value: sold, unit: `of ${CASE.stock}` }] })
}

async function decremented(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const pieces = 3
  const play = new Play('no lock, one piece each: DECR, and below 0 it was too late', 'remedy', 'no harm')
  const stock = stage.fresh('stock')
  let sold = 0
  for (const name of ['A', 'B', 'C', 'D', 'E']) {
    const hand = stage.hand(name, play, url)
    if (name === 'A') await hand.ask('SET', stock, pieces)
    const left = Number(await hand.say('DECR', stock))
    if (left >= 0) sold++
    else play.step(name, `${left} < 0: nothing for ${name}`)
  }
  return play.end({ harm: oversold(sold, pieces), figures: [{ name: 'sold', value: sold, unit: `of ${pieces}` }] })
}

async function ours(stage: Stage): Promise<Act> {
  const { url } = await stage.redis()
  const play = new Play(
    'where it takes more than one step: a lock, and a stock that checks the token',
    'holdfast',
    'caught',
  )
  const [line, stock] = [stage.fresh('lock'), stage.fresh('stock')]
  const guard = redisGuard(url)
  stage.defer(() => guard.close())
  const [a, b] = [await stage.holdfast(url), await stage.holdfast(url)]
  await stage.hand('A', play, url).ask('SET', stock, CASE.stock)
  const aHeld = await a.mutex(line, { ttlMs: TTL_MS, renew: false }).acquire()
  const aHolds = play.hold('A')
  const aSees = Number(await guard.call(stock, aHeld, ['GET', stock]))
  play.step('A', `acquire() → token ${aHeld.token}; GET ${stock} → ${aSees}`)
  const bHeld = await b.mutex(line, { ttlMs: LONG_MS }).acquire()
  aHolds()
  const bHolds = play.hold('B')
  const bSees = Number(await guard.call(stock, bHeld, ['GET', stock]))
  play.step('B', `acquire() → token ${bHeld.token}; GET ${stock} → ${bSees}`)
  let sold = 0
  let refused = 0
  for (const [name, held, sees, wants] of [
    ['A', aHeld, aSees, CASE.a],
    ['B', bHeld, bSees, CASE.b],
  ] as const) {
    if (sees < wants) continue
    try {
      await guard.call(stock, held, ['DECRBY', stock, wants])
      sold += wants
      play.step(name, `DECRBY ${stock} ${wants} with token ${held.token} → sold`)
    } catch (error) {
      if (!(error instanceof StaleTokenError)) throw error
      refused++
      play.caught(name, `DECRBY ${stock} ${wants} with token ${held.token} → ${error.code}`)
    }
  }
  bHolds()
  return play.end({
    harm: oversold(sold),
    caught: refused,
    figures: [{ name: 'sold', value: sold, unit: `of ${CASE.stock}` }],
  })
}

export const stock: Exhibit = {
  name: 'stock',
  title: 'get-and-compare under a lock, against one atomic decrement without any',
  recipe: 'under SET NX PX: if GET stock >= wanted then DECRBY stock wanted',
  source: 'the same sale: its second mistake, says the course, and the one that no lock would have mended',
  lesson:
    'Where one conditional write is enough, take that and no lock. Where it is not, lock, and let the stock ' +
    'check the token.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await compared(stage), await atomic(stage), await decremented(stage), await ours(stage)],
}
