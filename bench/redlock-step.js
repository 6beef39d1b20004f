/**
 * `node bench/redlock-step.js [rounds]`: what a pair of steps, to take and to let go, costs a server of a Redlock
 * deployment, by the server's own count (`INFO commandstats`), one request at a time: the raw pair, the least script
 * that could do it (the time, the marker, the line, a write), and ours.
 */
import { randomBytes } from 'node:crypto'
import { SCRIPTS } from '../packages/holdfast/build/src/stores/redlock/scripts.js'
import { Connection } from '../packages/holdfast/build/src/clients/redis/connection.js'
import { script } from '../packages/holdfast/build/src/clients/redis/script.js'
import { testbed } from '../packages/holdfast-lab/dist/src/testbed/testbed.js'
import { spread } from './stats.js'

const ROUNDS = Number(process.argv[2] ?? 9)
const PAIRS = 2_000
const KEYS = ['step:redlock', 'step:{line}']
const [MARKER = '', LINE = ''] = KEYS
const LEAST = script(`local time = redis.call('TIME')
local mark, known = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
redis.call('SET', KEYS[2], ARGV[4], 'PX', 120000)
return { time[1] * 1000000 + time[2], 0, 1, 0, 0, 0, -1 }`)
const COMPARE = script("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
const bed = await testbed()
try {
  const { port } = await bed.redis()
  const connection = new Connection({ port })
  await connection.connect()
  const hello = /** @type {unknown[]} */ (await connection.run(SCRIPTS.hello, [MARKER], ['init', 60_000]))
  const run = String(hello[2])
  const data = JSON.stringify({ host: 'host', pid: process.pid })
  let last = 0
  /** @param {string} id */
  const entered = (id) => {
    last = Math.max(last + 1, Date.now() * 1_000)
    return [run, 60_000, 120_000, id, 1, 1, 30_000, last, last, 0, 1, 1, '0123456789abcdef', data]
  }
  /** @param {string} id */
  const left = (id) => [run, 60_000, 120_000, id, 30_000, 0, 0, 1]

  /** @type {Record<string, (id: string) => Promise<unknown>>} */
  const pairs = {
    'SET NX PX, compare and delete': async (id) => {
      await connection.command(['SET', LINE, id, 'NX', 'PX', '30000'])
      await connection.run(COMPARE, [LINE], [id])
    },
    'the least script, twice': async (id) => {
      await connection.run(LEAST, KEYS, entered(id))
      await connection.run(LEAST, KEYS, left(id))
    },
    'enter, leave': async (id) => {
      await connection.run(SCRIPTS.enter, KEYS, entered(id))
      await connection.run(SCRIPTS.leave, KEYS, left(id))
    },
  }

  /** Counts what came over the wire. The commands of a script are part of the script. */
  const spentUs = async () => {
    const said = /** @type {string} */ (await connection.command(['INFO', 'commandstats']))
    /** @param {string} name */
    const usec = (name) => Number(new RegExp(`cmdstat_${name}:calls=\\d+,usec=(\\d+)`).exec(said)?.[1] ?? 0)
    return { set: usec('set'), evalsha: usec('evalsha') }
  }

  /** @type {Map<string, number[]>} */
  const costs = new Map()
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, pair] of Object.entries(pairs)) {
      await connection.command(['DEL', LINE])
      await connection.command(['CONFIG', 'RESETSTAT'])
      for (let n = 0; n < PAIRS; n++) await pair(randomBytes(16).toString('hex'))
      const { set, evalsha } = await spentUs()
      const us = (name.startsWith('SET') ? set + evalsha : evalsha) / PAIRS
      costs.set(name, [...(costs.get(name) ?? []), us])
    }
  }
  for (const [name, all] of costs) {
    const { median, p25, p75 } = spread(all)
    console.log(`${name}: ${median.toFixed(1)} µs a pair (${p25.toFixed(1)}-${p75.toFixed(1)})`)
  }
  await connection.close()
} finally {
  await bed.close()
}
