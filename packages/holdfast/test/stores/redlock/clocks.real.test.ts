/**
 * A server's clock is moved: two holders under the classic algorithm; here the server is not believed, and silenced for
 * all.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { initRedlock, redlock, type RedlockDriver } from '../../../src/stores/redlock/index.ts'
import { StoreUnreachableError } from '../../../src/index.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { until } from '../../../../holdfast-lab/src/testbed/until.ts'
import { type Clock, Clocks } from '../../../../holdfast-lab/src/torture/backend/clock.ts'
import { classicVotes, entry, fresh, urlOf } from './rig.ts'

const clocks = new Clocks()
let bed: Testbed
let clock: Clock
let servers: Server[]
const open: RedlockDriver[] = []
let deployments = 0

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['compiler'])
  bed = await testbed()
  clock = await clocks.make('third')
  servers = await Promise.all(
    [0, 1, 2, 3, 4].map((i) => bed.redis(i === 2 && clock.env !== null ? { env: clock.env } : {})),
  )
})

afterAll(async () => {
  for (const driver of open) await driver.close()
  await clocks.close()
  await bed?.close()
})

/** A new deployment, held by a bare majority of the first three servers. */
async function held(
  line: string,
): Promise<{ holder: RedlockDriver; witness: RedlockDriver; connect: () => Promise<RedlockDriver> }> {
  const options = { prefix: `c${deployments++}`, nodeTimeoutMs: 500 }
  const url = urlOf(servers)
  await initRedlock(url, { ...options, maxTtlMs: 20_000 })
  const connect = async (): Promise<RedlockDriver> => {
    const driver = redlock(url, options)
    open.push(driver)
    await driver.open()
    return driver
  }
  const [holder, witness] = [await connect(), await connect()]
  // The witness knows all five clocks from before.
  await witness.enter(entry(fresh()), false)
  const frozen = servers.slice(3)
  for (const server of frozen) server.pause()
  expect(await holder.enter(entry(line), false)).not.toBeNull()
  for (const server of frozen) server.resume()
  await until(async () => expect(await witness.enter(entry(fresh()), false)).not.toBeNull(), { what: 'it is served' })
  return { holder, witness, connect }
}

async function expectRefused(driver: RedlockDriver, line: string): Promise<void> {
  let granted = 0
  for (let n = 0; n < 5; n++) {
    try {
      if ((await driver.enter(entry(line), false)) !== null) granted++
    } catch (error) {
      expect(error).toBeInstanceOf(StoreUnreachableError)
    }
  }
  expect(granted, 'second holders').toBe(0)
}

test('forward by 40 s: who knew the clock silences it, who did not finds it far from the others', async () => {
  if (clock.env === null) throw new Error(`not run: ${clock.lacks['clock-forward']}`)
  const [key, line] = [fresh(), fresh()]
  const { witness, connect } = await held(line)
  expect(await classicVotes(servers.slice(0, 3), key, 10_000)).toBe(3)
  await clock.set(40_000)
  try {
    expect(await classicVotes(servers, key, 10_000), 'the classic algorithm has a second majority').toBe(3)
    await expectRefused(await connect(), line)
    await expectRefused(witness, line)
    // Other lines are still served, by those that did not jump.
    expect(await witness.enter(entry(fresh()), false)).not.toBeNull()
  } finally {
    await clock.set(0)
  }
})

test('back by 5 s: its own scripts notice, and it gives no votes', async () => {
  if (clock.env === null) throw new Error(`not run: ${clock.lacks['clock-back']}`)
  const line = fresh()
  const { witness, connect } = await held(line)
  await clock.set(-5_000)
  try {
    await expectRefused(witness, line)
    const newcomer = await connect()
    await expectRefused(newcomer, line)
    expect(await newcomer.enter(entry(fresh()), false)).not.toBeNull()
  } finally {
    await clock.set(0)
  }
})
