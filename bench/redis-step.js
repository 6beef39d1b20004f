/**
 * `node bench/redis-step.js [rounds]`: what a pair of steps, to take a free lock and to let it go, costs a Redis
 * server, by its own count of processor time (`INFO cpu`): by lines in a script, on names that were used before and
 * on names that are new. The cheapest tenth of the rounds is shown: what else runs on the machine only adds to them.
 */
import { randomBytes } from 'node:crypto'
import { Connection } from '../packages/holdfast/build/src/clients/redis/connection.js'
import { scriptsFor } from '../packages/holdfast/build/src/stores/redis/scripts.js'
import { testbed } from '../packages/holdfast-lab/dist/src/testbed/testbed.js'
import { quantile } from './stats.js'

const ROUNDS = Number(process.argv[2] ?? 150)
const PAIRS = 512
const { enter, leave } = scriptsFor('hf')
/** Arguments: capacity 1, a lease of 30 s, weight 1, no mark. */
const SENT = '000010007530000010'
const DATA = JSON.stringify({ host: 'host', pid: process.pid })
const bed = await testbed()
try {
  const { port } = await bed.redis()
  const connection = new Connection({ port })
  await connection.connect()

  const spentUs = async () => {
    const said = /** @type {string} */ (await connection.command(['INFO', 'cpu']))
    /** @param {string} name */
    const seconds = (name) => Number(new RegExp(`used_cpu_${name}_main_thread:([\\d.]+)`).exec(said)?.[1])
    return (seconds('user') + seconds('sys')) * 1e6
  }

  let last = 0
  /** @param {number} lines of a script @param {number} names that are gone through */
  async function round(lines, names) {
    const calls = Array.from({ length: PAIRS / lines }, () => {
      const tags = Array.from({ length: lines }, () => `hf:{step:${last++ % names}}`)
      return { keys: tags.flatMap((tag) => [tag, `${tag}:q`]), ids: tags.map(() => randomBytes(16).toString('hex')) }
    })
    const before = await spentUs()
    for (const own of [enter, leave]) {
      const shared = own === enter ? ['30000', '86430000', '1'] : ['86400000', '30000', '']
      await Promise.all(
        calls.map(({ keys, ids }) => {
          const args = ids.map((id) => (own === enter ? `${SENT}${id}0123456789ab${DATA}` : `0${id}`))
          return connection.run(own, keys, [...shared, ...args])
        }),
      )
    }
    return ((await spentUs()) - before) / PAIRS
  }

  for (const lines of [1, 8, 32]) {
    for (const [kind, names] of /** @type {const} */ ([
      ['used', PAIRS],
      ['new', Number.MAX_SAFE_INTEGER],
    ])) {
      await connection.command(['FLUSHALL'])
      for (let i = 0; i < 10; i++) await round(lines, names)
      const costs = new Float64Array(ROUNDS)
      for (let i = 0; i < ROUNDS; i++) costs[i] = await round(lines, names)
      console.log(`${lines} lines in a script, ${kind} names: ${quantile(costs, 0.1).toFixed(2)} µs a pair`)
    }
  }
  await connection.close()
} finally {
  await bed.close()
}
