/**
 * Another runtime than Node, over the built package: locks hold there, and a store that can't be kept is refused by
 * name.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { requireServers } from '../packages/holdfast-lab/src/testbed/require.ts'
import { type Testbed, testbed } from '../packages/holdfast-lab/src/testbed/testbed.ts'

interface Runtime {
  readonly command: readonly [file: string, ...args: string[]]
}

interface Outcome {
  readonly refused: string | null
  readonly cases: number
  readonly failed: readonly string[]
}

const folder = mkdtempSync(join(tmpdir(), 'holdfast-runtimes-'))
let bed: Testbed
let runtime: Runtime

beforeAll(async () => {
  await requireServers(['redis'])
  bed = await testbed()
  const script = (name: string): Promise<unknown> => import(new URL(`../scripts/matrix/${name}`, import.meta.url).href)
  const { Cache } = (await script('cache.js')) as { readonly Cache: new () => object }
  const { bun } = (await script('runtimes.js')) as { readonly bun: (cache: object) => Promise<Runtime> }
  runtime = await bun(new Cache())
}, 300_000)

afterAll(async () => {
  await bed?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function conform(...args: readonly string[]): Promise<Outcome> {
  const [file, ...before] = runtime.command
  const child = spawn(file, [...before, 'scripts/matrix/conform.js', ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  await once(child, 'close')
  return JSON.parse(out.trim().split('\n').at(-1) ?? '') as Outcome
}

test('Bun on Redis: processes that contend, are killed, stopped and blocked', async () => {
  const { url } = await bed.redis()
  const { refused, cases, failed } = await conform('redis', JSON.stringify(url), '^(exclusion|life|tokens|owner):')
  expect(refused).toBeNull()
  expect(failed).toEqual([])
  expect(cases).toBeGreaterThan(10)
})

test('Bun on SQLite: refused by name, since two would hold one lock there', async () => {
  const { refused } = await conform('sqlite', JSON.stringify({ path: join(folder, 'locks.db') }))
  expect(refused).toMatch(/^SQLite locks don't work on Bun \d.*Node.*another store/)
})
