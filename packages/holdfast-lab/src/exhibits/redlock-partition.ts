/** Redlock in a partition in which no client reaches a majority: nobody gets the lock, for as long as that lasts. */
import { HoldfastError, StoreUnreachableError } from 'holdfast'
import { Classic, council, cutOff, deployment, redlockUrl, wayIn } from '../lab/council.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { orNull, orRefusal } from '../lab/outcomes.ts'
import { Play } from '../lab/play.ts'
import type { Stage } from '../lab/stage.ts'

const TTL_MS = 10_000
const TRIES = 3
const WAIT_MS = 1_500
/** The servers that each client does not reach; nobody reaches the fifth. */
const CUT: Readonly<Record<string, readonly number[]>> = { A: [3, 4, 5], B: [1, 2, 5] }

async function classic(stage: Stage): Promise<Act> {
  const { servers } = await council(stage)
  const play = new Play('A reaches servers 1 and 2, B 3 and 4', 'recipe', 'harm')
  const key = stage.fresh('lock')
  const clients = []
  for (const [name, cut] of Object.entries(CUT)) {
    const way = await wayIn(stage, servers)
    await cutOff(way, cut)
    play.fault(name, `does not reach servers ${cut.join(', ')}`)
    clients.push({ way, client: new Classic(stage, play, name, way.addresses) })
  }
  const got = await Promise.all(
    clients.map(async ({ client }) => {
      const waited = play.begin(client.name, 'wait')
      for (let i = 0; i < TRIES; i++) if (await client.take(key, TTL_MS)) return true
      waited()
      play.harm(client.name, 'the lock is free, and it is told the same as if another had it: not acquired')
      return false
    }),
  )
  let later = 0
  for (const { way, client } of clients) {
    for (const proxy of way.proxies) await proxy.heal()
    play.step(client.name, 'reaches all servers again')
    if (await client.take(key, TTL_MS)) later++
    await client.free(key)
  }
  return play.end({
    harm: { name: 'clients that could not get a free lock', value: got.filter((one) => !one).length },
    figures: [{ name: 'served afterwards', value: later, unit: 'of 2' }],
  })
}

async function ours(stage: Stage): Promise<Act> {
  const { servers } = await council(stage)
  const play = new Play('the same', 'holdfast', 'exposed')
  const prefix = await deployment(stage, servers, TTL_MS)
  const line = stage.fresh('lock')
  const clients = []
  for (const [name, cut] of Object.entries(CUT)) {
    const way = await wayIn(stage, servers)
    const hf = await stage.holdfast(redlockUrl(way.addresses, prefix))
    await cutOff(way, cut)
    play.fault(name, `does not reach servers ${cut.join(', ')}`)
    clients.push({ name, way, hf })
  }
  const answers = await Promise.all(
    clients.map(async ({ name, hf }) => {
      const waited = play.begin(name, 'wait')
      const answer = await orRefusal(hf.mutex(line, { ttlMs: TTL_MS }).acquire({ waitMs: WAIT_MS }))
      waited()
      if (answer instanceof HoldfastError) play.harm(name, `acquire({ waitMs: ${WAIT_MS} }) → ${answer.code}`)
      return answer
    }),
  )
  for (const { way, name } of clients) {
    for (const proxy of way.proxies) await proxy.heal()
    play.step(name, 'reaches all servers again')
  }
  let later = 0
  for (const { name, hf } of clients) {
    const held = await orNull(hf.mutex(line, { ttlMs: TTL_MS }).acquire({ waitMs: 3 * TTL_MS }))
    if (held === null) continue
    later++
    play.step(name, `acquire() → token ${held.token}`)
    const holds = play.hold(name)
    await held.release()
    play.step(name, 'release()')
    holds()
  }
  const refused = answers.filter((answer) => answer instanceof HoldfastError)
  const outages = refused.filter((answer) => answer instanceof StoreUnreachableError)
  return play.end({
    harm: { name: 'clients that could not get a free lock', value: refused.length },
    figures: [
      { name: 'told that it is an outage', value: outages.length, unit: `of ${refused.length}` },
      { name: 'served afterwards', value: later, unit: 'of 2' },
    ],
  })
}

export const redlockPartition: Exhibit = {
  name: 'redlock-partition',
  title: 'Redlock in a partition where nobody gets it',
  recipe: 'SET lock value NX PX ttl on five servers; it is mine if three said OK in time',
  source: 'tutorials: "in a network partition a client may never get the lock"',
  lesson:
    'No majority, no lock: that is the price of not having two. Holdfast pays it too, says by its error that it ' +
    'is an outage and nobody’s lock, and goes on when it is over.',
  servers: ['redis'],
  kind: 'deterministic',
  run: async (stage) => [await classic(stage), await ours(stage)],
}
