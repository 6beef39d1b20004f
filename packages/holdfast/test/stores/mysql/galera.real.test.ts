/** A Galera cluster of three, whose nodes all take writes: they refuse each other's at commit, and lose nothing. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GaleraGroup } from '../../../../holdfast-lab/src/testbed/galera.ts'
import { mariadbAsk } from '../../../../holdfast-lab/src/testbed/mariadb-ask.ts'
import { requireTools, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { type Holdfast, holdfast, StoreUnreachableError } from '../../../src/index.ts'
import { ills } from '../../doctor/found.ts'
import { Crew } from '../sql/crew.ts'

const isSkipped = skipped('mariadb')
const LONG = { ttlMs: 120_000 }
const folder = mkdtempSync(join(tmpdir(), 'holdfast-galera-'))
let bed: Testbed
let group: GaleraGroup
let nodes: readonly [Server, Server, Server]
const open: Holdfast[] = []

beforeAll(async () => {
  if (isSkipped) return
  await requireTools(['galera'])
  bed = await testbed()
  group = await bed.galera(3)
  nodes = group.servers as typeof nodes
  await (await on(nodes[0])).setup()
}, 600_000)

afterAll(async () => {
  await Promise.allSettled(open.map((hf) => hf.close()))
  await bed?.close()
  rmSync(folder, { recursive: true, force: true })
}, 60_000)

async function on(node: Server): Promise<Holdfast> {
  const hf = await holdfast(node.url)
  open.push(hf)
  return hf
}

/** How many transactions this node has refused or ended because another node's came first. */
async function conflicts(node: Server): Promise<number> {
  const sql = "SHOW STATUS WHERE Variable_name IN ('wsrep_local_cert_failures', 'wsrep_local_bf_aborts')"
  return (await mariadbAsk(node, sql)).reduce((sum, [, count]) => sum + Number(count), 0)
}

test.skipIf(isSkipped)(
  'processes on three nodes: one at a time, tokens rise, and no refusal is told',
  async () => {
    const order = { work: 'visit', times: 0, clockMs: 0, line: 'hot', mark: join(folder, 'inside') } as const
    const crew = await Crew.hire(nodes.map(({ url }) => ({ ...order, url })))
    const instances = await Promise.all(nodes.map(on))
    const before = await Promise.all(nodes.map(conflicts))
    const race = { isOver: false, inside: 0 }
    const tokens: bigint[] = []
    try {
      const visits = crew.go<string[]>()
      // Awaited below; a failure before that must not count as unhandled.
      visits.catch(() => undefined)
      // Beside those that queue, some that only try: their short ways meet at the same row.
      const tries = instances.map(async (hf) => {
        while (!race.isOver) {
          const held = await hf.mutex('tried').tryAcquire()
          if (held === null) continue
          expect(++race.inside).toBe(1)
          tokens.push(held.token)
          await new Promise(setImmediate)
          race.inside--
          await held.release()
        }
      })
      try {
        // It says nothing unless every node has been refused.
        const met = async (at: number): Promise<boolean> => (await conflicts(nodes[at] as Server)) > (before[at] ?? 0)
        for (const at of nodes.keys()) await expect.poll(() => met(at), { timeout: 60_000 }).toBe(true)
      } finally {
        race.isOver = true
        crew.stop()
      }
      await Promise.all(tries)
      const queued = await visits
      expect(new Set(queued.flat()).size).toBe(queued.flat().length)
      for (const list of [...queued.map((each) => each.map(BigInt)), tokens]) {
        expect(list.length).toBeGreaterThan(0)
        expect(list).toEqual(list.toSorted((a, b) => (a < b ? -1 : 1)))
      }
    } finally {
      await crew.dismiss()
    }
  },
  120_000,
)

test.skipIf(isSkipped)(
  'a node cut off from the others: an outage there, and nothing is lost',
  async () => {
    const [alone, majority] = [await on(nodes[0]), await on(nodes[1])]
    const held = await alone.mutex('kept', LONG).acquire()
    const cell = alone.cell<string>('kept')
    await cell.update(() => 'kept')
    await mariadbAsk(nodes[0], "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
    const status = async (): Promise<unknown> =>
      (await mariadbAsk(nodes[0], "SHOW STATUS LIKE 'wsrep_cluster_status'")).flat()[1]
    await expect.poll(status, { timeout: 60_000 }).toBe('non-Primary')
    const refused = await alone
      .mutex('fresh')
      .tryAcquire()
      .catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(StoreUnreachableError)
    expect((refused as Error).message, 'by the answer of the node, not by its silence').toMatch(/WSREP/)
    // The others wait until they know that one is gone, and go on.
    expect(await majority.mutex('fresh').acquire({ waitMs: 60_000 })).not.toBeNull()
    expect(await majority.mutex('kept').tryAcquire(), 'what was granted there is known here').toBeNull()
    expect((await majority.cell<string>('kept').read()).value).toBe('kept')
    await mariadbAsk(nodes[0], "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
    await group.joined(nodes[0])
    held.assertHeld()
    expect(await held.release()).toBe(true)
    expect(await ills(nodes[0].url)).toMatchObject({ 'mysql.galera': 'warning' })
  },
  120_000,
)

// Last: the node does not come back.
test.skipIf(isSkipped)(
  'a node dies right after a grant: the others know of it, and tokens go on',
  async () => {
    const [gone, left] = [await on(nodes[0]), await on(nodes[1])]
    const held = await gone.mutex('acknowledged', { ttlMs: 6_000 }).acquire()
    await nodes[0].kill()
    await expect.poll(() => holders(left, 'acknowledged'), { timeout: 5_000 }).toEqual([held.token])
    const served = await left.mutex('acknowledged').acquire({ waitMs: 60_000 })
    expect(() => held.assertHeld(), 'lost by its own clock, before the next is served').toThrow()
    expect(served.token).toBeGreaterThan(held.token)
  },
  120_000,
)

async function holders(hf: Holdfast, name: string): Promise<bigint[]> {
  for await (const line of hf.list({ prefix: name })) {
    if (line.name === name) return line.holders.map(({ token }) => token)
  }
  return []
}
