/** Redlock, and three clients that ask at once: each gets some votes, and nobody a majority. */
import { until } from '../testbed/until.ts'
import { Random } from '../torture/random.ts'
import { Classic, council, deployment, redlockUrl, type Way, wayIn } from '../lab/council.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { orNull } from '../lab/outcomes.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 10_000
const WAIT_MS = 20_000
const ROUNDS = 30
const SEED = 1
/** Whose request reaches which server first. */
const FIRST: Readonly<Record<string, readonly number[]>> = { A: [1, 2], B: [3, 4], C: [5] }

/** Requests to all other servers lie in the proxy until it is healed. */
async function holdBack(way: Way, first: readonly number[]): Promise<void> {
  for (const [i, proxy] of way.proxies.entries()) if (!first.includes(i + 1)) await proxy.set({ toServer: 'hold' })
}

async function forced(stage: Stage): Promise<Act> {
  const { servers } = await council(stage)
  const play = new Play('the requests of A reach 1 and 2 first, those of B 3 and 4, that of C 5', 'recipe', 'harm')
  const key = stage.fresh('lock')
  const clients = []
  for (const [name, first] of Object.entries(FIRST)) {
    const way = await wayIn(stage, servers)
    const client = new Classic(stage, play, name, way.addresses)
    // Open the connections first: only the request itself is held back.
    await client.free(key)
    await holdBack(way, first)
    clients.push({ client, way, first })
  }
  const rounds = Promise.allSettled(clients.map(({ client }) => client.take(key, TTL_MS)))
  for (const { way, first } of clients) await underWay(way, first)
  for (const { way } of clients) for (const proxy of way.proxies) await proxy.heal()
  const won = (await rounds).filter((round) => round.status === 'fulfilled' && round.value).length
  if (won === 0) play.harm('C', 'nobody has a majority, and all give their votes back: the round was for nothing')
  const left = await byChance(stage, key)
  return play.end({
    harm: { name: 'rounds in which nobody got a free lock', value: won === 0 ? 1 : 0 },
    figures: [{ name: `left to chance (seed ${SEED}), nobody got it in`, value: left, unit: `of ${ROUNDS} rounds` }],
  })
}

/** Waits until the requests to all other servers lie in the proxies. */
async function underWay(way: Way, first: readonly number[]): Promise<void> {
  const back = way.proxies.filter((_, i) => !first.includes(i + 1))
  await until(
    async () => {
      if (back.some(({ counts }) => counts.heldBytes === 0)) throw new Error('not yet')
    },
    { what: 'the requests are on their way' },
  )
}

/** Each asks the servers one after the other, as published, beginning anywhere. */
async function byChance(stage: Stage, key: string): Promise<number> {
  const { servers } = await council(stage)
  const random = Random.of(SEED, 'split votes')
  const silent = new Play('', 'recipe', 'harm')
  let nobody = 0
  const hands = Object.keys(FIRST).map((name) => servers.map(({ url }) => stage.hand(name, silent, url)))
  for (let i = 0; i < ROUNDS; i++) {
    const won = await Promise.all(
      hands.map(async (own) => {
        const from = random.whole(0, own.length - 1)
        let votes = 0
        for (let j = 0; j < own.length; j++)
          if (await own[(from + j) % own.length]?.take(`${key}:${i}`, TTL_MS)) votes++
        return votes > own.length / 2
      }),
    )
    if (!won.includes(true)) nobody++
  }
  return nobody
}

async function ours(stage: Stage): Promise<Act> {
  const { servers } = await council(stage)
  const play = new Play('the same', 'holdfast', 'impossible')
  const line = stage.fresh('lock')
  const prefix = await deployment(stage, servers, TTL_MS)
  const clients = []
  for (const [name, first] of Object.entries(FIRST)) {
    const way = await wayIn(stage, servers)
    const hf = await stage.holdfast(redlockUrl(way.addresses, prefix))
    const warm = await hf.mutex(stage.fresh('other'), { ttlMs: TTL_MS }).acquire()
    await warm.release()
    clients.push({ name, first, way, hf })
  }
  for (const { way, first } of clients) await holdBack(way, first)
  let served = 0
  const visits = Promise.allSettled(
    clients.map(async ({ name, hf }) => {
      const waited = play.begin(name, 'wait')
      play.step(name, 'acquire(), at the same time as the others')
      const held = await orNull(hf.mutex(line, { ttlMs: TTL_MS }).acquire({ waitMs: WAIT_MS }))
      waited()
      if (held === null) return
      served++
      play.step(name, `→ token ${held.token}`)
      const holds = play.hold(name)
      await new Promise((resolve) => setTimeout(resolve, 20))
      play.step(name, 'release()')
      holds()
      await held.release()
    }),
  )
  for (const { way, first } of clients) await underWay(way, first)
  for (const { way } of clients) for (const proxy of way.proxies) await proxy.heal()
  for (const visit of await visits) if (visit.status === 'rejected') throw visit.reason
  return play.end({
    harm: { name: 'clients that never got it', value: clients.length - served },
    figures: [
      { name: 'served', value: served, unit: `of ${clients.length}` },
      { name: 'holders at once', value: play.holdersAtOnce },
    ],
  })
}

export const redlockSplitVotes: Exhibit = {
  name: 'redlock-split-votes',
  title: 'Redlock, and clients that ask at once: votes split, and nobody gets a free lock',
  recipe:
    'SET lock value NX PX ttl on five servers; with less than three give all back and try again after a random time',
  source: 'tutorials name it as the price of Redlock: "everybody has one or two of the five, and nobody gets it"',
  lesson:
    'A vote that waits in line instead of being refused settles by itself: a place on each server, and nobody ' +
    'starts over.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await forced(stage), await ours(stage)],
}
