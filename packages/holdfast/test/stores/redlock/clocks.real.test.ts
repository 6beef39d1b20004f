/**
 * A server's clock is moved: two holders under the classic algorithm; here the server is not believed, and silenced for
 * all.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { initRedlock, redlock, type RedlockDriver } from '../../../src/stores/redlock/index.ts'
import { StoreUnreachableError } from '../../../src/index.ts'
import { type FaultProxy, faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { requireServers, requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { type Testbed, testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { until } from '../../../../holdfast-lab/src/testbed/until.ts'
import { type Clock, Clocks } from '../../../../holdfast-lab/src/torture/backend/clock.ts'
import { classicVotes, entry, fresh, urlOf } from './rig.ts'

const clocks = new Clocks()
let bed: Testbed
/** Of the third server. */
let clock: Clock
/** Of the first two. */
let others: Clock
let servers: Server[]
const open: RedlockDriver[] = []
const proxies: FaultProxy[] = []
let deployments = 0

beforeAll(async () => {
  await requireServers(['redis'])
  await requireTools(['compiler'])
  bed = await testbed()
  clock = await clocks.make('third')
  others = await clocks.make('others')
  if (clock.env === null || others.env === null) throw new Error(`not run: ${clock.lacks['clock-forward']}`)
  const envs = [others.env, others.env, clock.env, {}, {}]
  servers = await Promise.all(envs.map((env) => bed.redis({ env })))
})

afterAll(async () => {
  for (const driver of open) await driver.close()
  for (const proxy of proxies) await proxy.close()
  await clocks.close()
  await bed?.close()
})

/**
 * A new deployment, held by the first three of five servers only: for the holder, the last two are behind proxies that
 * let nothing through. (Servers that were merely frozen would have voted for the holder when they went on.)
 */
async function held(line: string): Promise<{ witness: RedlockDriver; connect: () => Promise<RedlockDriver> }> {
  const options = { prefix: `c${deployments++}`, nodeTimeoutMs: 500 }
  await initRedlock(urlOf(servers), { ...options, maxTtlMs: 20_000 })
  const connect = async (to: readonly { readonly port: number }[] = servers): Promise<RedlockDriver> => {
    const driver = redlock(urlOf(to), options)
    open.push(driver)
    await driver.open()
    return driver
  }
  const cut = await Promise.all(servers.slice(3).map(({ port }) => faultProxy({ port })))
  proxies.push(...cut)
  const [holder, witness] = [await connect([...servers.slice(0, 3), ...cut]), await connect()]
  await Promise.all(cut.map((proxy) => proxy.set({ toServer: 'drop', accept: false })))
  // The witness knows all five clocks from before.
  expect(await witness.enter(entry(fresh()), false)).not.toBeNull()
  expect(await holder.enter(entry(line), false)).not.toBeNull()
  return { witness, connect: () => connect() }
}

/** These clocks are wrong by so much while `work` runs. */
async function moved(moving: readonly Clock[], byMs: number, work: () => Promise<void>): Promise<void> {
  try {
    for (const one of moving) await one.set(byMs)
    await work()
  } finally {
    for (const one of moving) await one.set(0)
  }
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

test('forward by 40 s: who knew the clock counts its votes no more', async () => {
  const [key, line] = [fresh(), fresh()]
  const { witness } = await held(line)
  expect(await classicVotes(servers.slice(0, 3), key, 10_000)).toBe(3)
  await moved([clock], 40_000, async () => {
    expect(await classicVotes(servers, key, 10_000), 'the classic algorithm has a second majority').toBe(3)
    await expectRefused(witness, line)
    // Other lines are still served, by those that did not jump.
    expect(await witness.enter(entry(fresh()), false)).not.toBeNull()
  })
})

test('forward by 40 s: who did not know the clock finds it far from the others', async () => {
  const line = fresh()
  const { connect } = await held(line)
  await moved([clock], 40_000, async () => {
    const newcomer = await connect()
    await expectRefused(newcomer, line)
    expect(await newcomer.enter(entry(fresh()), false)).not.toBeNull()
  })
})

test('forward by 700 ms, which nobody can see who comes later: who saw it has silenced it for all', async () => {
  const { witness, connect } = await held(fresh())
  await moved([clock], 700, async () => {
    // The first answer shows the jump, the others show whose it was.
    await until(
      async () => {
        await witness.enter(entry(fresh()), false)
        const newcomer = await connect()
        await expect(newcomer.enter(entry(fresh()), false)).resolves.not.toBeNull()
        const frozen = servers.slice(3)
        for (const server of frozen) server.pause()
        try {
          await expect(newcomer.enter(entry(fresh()), false)).rejects.toThrow(StoreUnreachableError)
        } finally {
          for (const server of frozen) server.resume()
        }
      },
      { what: 'the third gives no votes' },
    )
  })
})

test('back by 5 s: its own scripts notice, and it gives no votes', async () => {
  const line = fresh()
  const { witness, connect } = await held(line)
  await moved([clock], -5_000, async () => {
    await expectRefused(witness, line)
    const newcomer = await connect()
    await expectRefused(newcomer, line)
    expect(await newcomer.enter(entry(fresh()), false)).not.toBeNull()
  })
})

test('three of five go back by 5 s: near each other for who comes later, and they give no votes', async () => {
  const { connect } = await held(fresh())
  // What they would grant now would end 5 s early when the clocks are put right.
  await moved([clock, others], -5_000, async () => {
    const newcomer = await connect()
    await expect(newcomer.enter(entry(fresh()), false)).rejects.toThrow(StoreUnreachableError)
  })
})
