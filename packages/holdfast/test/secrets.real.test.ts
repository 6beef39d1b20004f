/**
 * A password in the URL of a store comes out nowhere: not in errors, events, history, metrics, objects that are
 * printed, the command line's own words, `ps`, or the environment of the program that `holdfast run` starts.
 */
import { execFileSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { requireServers } from '../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../holdfast-lab/src/testbed/testbed.ts'
import { channels } from '../src/contract/events.ts'
import { type Holdfast, holdfast, HoldfastError } from '../src/index.ts'
import { prometheusMetrics } from '../src/metrics/prometheus.ts'
import { Terminal, until } from './cli/terminal.ts'

const CANARY = 'c4n4ry'
/** Nobody listens at port 1. */
const CLOSED = [
  `redis://ann:${CANARY}@127.0.0.1:1/0`,
  `rediss://:${CANARY}@127.0.0.1:1`,
  `redis+sentinel://ann:${CANARY}@127.0.0.1:1/primary?sentinelUsername=bob&sentinelPassword=${CANARY}`,
  `rediss+sentinel://127.0.0.1:1/primary?sentinelPassword=${CANARY}`,
  `redis+cluster://ann:${CANARY}@127.0.0.1:1`,
  `redlock://ann:${CANARY}@127.0.0.1:1,b:${CANARY}@127.0.0.1:2,127.0.0.1:3`,
  `etcd://ann:${CANARY}@127.0.0.1:1`,
  `etcds://ann:${CANARY}@127.0.0.1:1`,
  `zookeeper://ann:${CANARY}@127.0.0.1:1/app`,
  `zookeepers://ann:${CANARY}@127.0.0.1:1`,
  `postgres://ann:${CANARY}@127.0.0.1:1/db?sslmode=require`,
  `postgresql://127.0.0.1:1/db?listenUrl=postgres%3A%2F%2Fann%3A${CANARY}%40127.0.0.1%3A1%2Fdb`,
  `mysql://ann:${CANARY}@127.0.0.1:1/db`,
  `mysqls://ann:${CANARY}@127.0.0.1:1/db`,
]

const terminal = new Terminal()
const heard: unknown[] = []
const hear = (message: unknown): void => void heard.push(message)
let bed: Testbed
let server: Server

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  server = await bed.redis({ requirepass: CANARY })
  for (const name of Object.keys(channels)) subscribe(`holdfast:${name}`, hear)
})

afterAll(async () => {
  for (const name of Object.keys(channels)) unsubscribe(`holdfast:${name}`, hear)
  await bed?.close()
})

function texts(value: unknown): string {
  const shown = inspect(value, {
    depth: 12,
    showHidden: true,
    getters: true,
    maxStringLength: 1e6,
    maxArrayLength: 1e4,
  })
  return `${shown}\n${String(value)}\n${json(value)}`
}

function json(value: unknown): string {
  const seen = new Set<unknown>()
  return (
    JSON.stringify(value, (_, one: unknown) => {
      if (typeof one === 'bigint') return String(one)
      if (typeof one === 'object' && one !== null && seen.has(one)) return '(again)'
      seen.add(one)
      return one
    }) ?? ''
  )
}

/** All that a user gets to see of an instance, and of what goes wrong with it. */
async function useAll(hf: Holdfast): Promise<unknown[]> {
  const metrics = prometheusMetrics()
  const tried = [
    () => hf.mutex('x').using(() => 'held', { waitMs: 300 }),
    () => hf.cell<number>('c').update((n = 0) => n + 1, { waitMs: 300 }),
    () => hf.limiter('l', { limit: 1, perMs: 1_000 }).take('k'),
    () => hf.health({ timeoutMs: 300 }),
    () => hf.jobs(),
  ].map((deed) => deed().catch((error: unknown) => error))
  const outcomes = await Promise.all(tried)
  metrics.stop()
  return [hf, hf.mutex('x'), hf.cell('c'), hf.job('j'), ...outcomes, hf.history(), metrics.text(), heard.splice(0)]
}

describe.each(CLOSED)('%s', (url) => {
  test('errors, events, history and objects do not show it', async () => {
    let seen: unknown[]
    try {
      const hf = await holdfast(url, { connectTimeoutMs: 300, ttlMs: 2_000, history: 100 })
      seen = await useAll(hf)
      await hf.close()
    } catch (error) {
      expect(error).toBeInstanceOf(HoldfastError)
      seen = [error, heard.splice(0)]
    }
    for (const one of seen) expect(texts(one)).not.toContain(CANARY)
  })

  test.each(['ttlMs=soon', 'nosuch=1', 'layout=nosuch', 'heartbeat=maybe'])(
    'nor with the option %s',
    async (option) => {
      const error: unknown = await holdfast(`${url}${url.includes('?') ? '&' : '?'}${option}`, {
        connectTimeoutMs: 100,
      }).then(
        (hf) => hf.close(),
        (caught: unknown) => caught,
      )
      expect(texts(error)).not.toContain(CANARY)
    },
  )
})

test('a server that wants another password does not make us repeat ours', async () => {
  const error: unknown = await holdfast(`redis://:${CANARY}-wrong@127.0.0.1:${server.port}`).catch((e: unknown) => e)
  expect(error).toBeInstanceOf(HoldfastError)
  expect(texts(error)).not.toContain(CANARY)
})

test('on a store that works: objects, events, history, metrics', async () => {
  const hf = await holdfast(`redis://:${CANARY}@127.0.0.1:${server.port}`, { history: 100, report: true })
  const held = await hf.mutex('y').acquire()
  const seen = [held, ...(await useAll(hf))]
  await hf.close()
  for (const one of seen) expect(texts(one)).not.toContain(CANARY)
})

describe('the command line', () => {
  test('says nothing of it when a store is out of reach, also with HOLDFAST_DEBUG and in a worker', async () => {
    const queue = CLOSED.map((url, i): [string[], string] =>
      i % 2 === 0 ? [['ls', '--json'], `${url}${url.includes('?') ? '&' : '?'}heartbeat=worker`] : [['doctor'], url],
    )
    const work = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [args, store] = next
        const env = { HOLDFAST_STORE: `${store}&connectTimeoutMs=500`.replace(/^([^?]*)&/, '$1?'), HOLDFAST_DEBUG: '1' }
        const { code, out, err } = await terminal.start(args, env).exit
        expect(code).not.toBe(0)
        expect(out + err).not.toBe('')
        expect(out + err).not.toContain(CANARY)
      }
    }
    await Promise.all([work(), work(), work(), work()])
  })

  test('ps, and the environment of the program, do not show it', async () => {
    const store = `redis://:${CANARY}@127.0.0.1:${server.port}`
    const script = 'echo "$HOLDFAST_STORE" > env.txt; tr "\\0" "\\n" < /proc/self/environ >> env.txt; sleep 30'
    const given = terminal.script(['ps-option', '--store', store], script.replaceAll('env.txt', 'option.txt'))
    const environment = terminal.script(['ps-environment'], script, { HOLDFAST_STORE: store })
    await until('both run', () =>
      [terminal.read('env.txt'), terminal.read('option.txt')].every((t) => t.includes('PATH')),
    )
    // Of us, the guardian and the program.
    const shown = execFileSync('ps', ['-eo', 'args']).toString()
    expect(shown).toContain('ps-environment')
    expect(shown).toContain('holdfast run ps-option --store redis://***@127.0.0.1')
    expect(shown).not.toContain(`${CANARY}@`)
    for (const { pid } of [given, environment]) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8')).not.toContain(CANARY)
    }
    expect(terminal.read('env.txt')).toContain(`redis://127.0.0.1:${server.port}`)
    expect(terminal.read('env.txt') + terminal.read('option.txt')).not.toContain(CANARY)
  })
})
