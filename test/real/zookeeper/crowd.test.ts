/** A long line of strict waiters: each hand-over wakes one, and they are served in order. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FaultyDriver } from '../../../conformance/faulty.ts'
import type { Stop, Wake } from '../../../src/driver.ts'
import { zookeeper } from '../../../src/drivers/zookeeper/index.ts'
import { makeInstance } from '../../../src/holdfast.ts'
import { Rig, until } from './rig.ts'

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

test(`${WAITERS} waiters: one wake-up for each hand-over`, async () => {
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
  await held.release()
  await Promise.all(waits)
  expect(tokens).toEqual(tokens.toSorted((a, b) => (a < b ? -1 : 1)))
  expect(driver.wakes).toBe(WAITERS)
  await hf.close()
}, 90_000)
