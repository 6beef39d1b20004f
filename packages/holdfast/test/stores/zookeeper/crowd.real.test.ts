/** A long line of strict waiters: each hand-over wakes one, and they are served in order. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FaultyDriver } from '../../../conformance/faulty.ts'
import type { Stop, Wake } from '../../../src/contract/driver.ts'
import { zookeeper } from '../../../src/stores/zookeeper/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { Rig, say, until } from './rig.ts'

const WAITERS = 1_000
let rig: Rig

beforeAll(async () => {
  rig = await Rig.open(1, { config: { maxSessionTimeout: 60_000 }, heapMb: 128 })
})

afterAll(() => rig?.[Symbol.asyncDispose]())

class Counting extends FaultyDriver {
  wakes = 0

  override watch(line: string, id: string | null, wake: Wake): Promise<Stop> {
    return super.watch(line, id, (push) => {
      this.wakes++
      wake(push)
    })
  }
}

/** How many watches the server has fired since it started, as it counts them itself. */
async function notifications(): Promise<number> {
  const told = await say(rig.servers[0] as Server, 'mntr', 'zk_sum_node_changed_watch_count')
  const counts = [...told.matchAll(/zk_sum_node_\w+_watch_count\t(\d+)/g)].map(([, count]) => Number(count))
  expect(counts.length).toBeGreaterThan(0)
  return counts.reduce((sum, count) => sum + count, 0)
}

test(`${WAITERS} waiters: one notification and one wake-up for each hand-over`, async () => {
  const other = await rig.holdfast()
  const driver = new Counting(await zookeeper({ servers: rig.addresses }), {})
  const hf = makeInstance(driver, { fairness: 'strict' })
  const held = await other.mutex('crowd').acquire()
  const tokens: bigint[] = []
  const waits = Array.from({ length: WAITERS }, () =>
    hf.mutex('crowd').using(({ token }) => {
      tokens.push(token)
    }),
  )
  await until('all stand in line', async () => {
    for await (const line of other.list({ prefix: 'crowd' })) if (line.waiters.length === WAITERS) return true
    return null
  })
  expect(driver.wakes).toBe(0)
  expect(await notifications()).toBe(0)
  await held.release()
  await Promise.all(waits)
  expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(driver.wakes).toBe(WAITERS)
  // The last one left to nobody; the first holder, who watched its own node by then, was not told of its own leaving.
  expect(await notifications()).toBe(WAITERS)
  await hf.close()
}, 90_000)

test('long holds, handed on within one process and between two: one notification each', async () => {
  const [a, b] = [await rig.holdfast({}, { fairness: 'strict' }), await rig.holdfast({}, { fairness: 'strict' })]
  const before = await notifications()
  const handover = [a, a, b, b, a].map((hf) =>
    hf.mutex('long').using(() => new Promise((resolve) => setTimeout(resolve, 300))),
  )
  await Promise.all(handover)
  expect((await notifications()) - before).toBe(handover.length - 1)
})
