import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type EtcdLayout, type EtcdStore, etcd } from '../../../src/stores/etcd/index.ts'
import type { Entry, Place } from '../../../src/contract/driver.ts'
import { faultProxy } from '../../../../holdfast-lab/src/testbed/proxy.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { oneMember } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * The store counts a lease from when it got the request. So its client must count from before it was sent, not from the
 * answer.
 */
describe.skipIf(skipped('etcd'))('answers that are on their way for long', () => {
  test.each(['line', 'key'] as const)('%s: a lease is counted from before its request was sent', async (layout) => {
    const { late, store } = await slowly(layout)
    const entry: Entry = {
      line: `since-${layout}`,
      id: randomBytes(16).toString('hex'),
      weight: 1,
      capacity: 1,
      ttlMs: 4_000,
      data: '{}',
    }
    const entered = await late(() => store.enter(entry, true))
    expect(entered.place.since.monoMs).toBeLessThan(entered.answeredAt)
    // Old enough to be renewed by the next heartbeat.
    await pause(1_200)
    const touched = await late(async () => (await store.touch([entry]))[0] ?? null)
    expect(touched.place.since.monoMs).toBeLessThan(touched.answeredAt)
    expect(touched.place.since.monoMs).toBeGreaterThan(entered.place.since.monoMs)
    await store.leave(entry)
  })
})

interface Slowly {
  readonly store: EtcdStore
  /** The answer can't have come before `answeredAt`. */
  late(ask: () => Promise<Place | null>): Promise<{ readonly place: Place; readonly answeredAt: number }>
}

async function slowly(layout: EtcdLayout): Promise<Slowly> {
  const proxy = await faultProxy({ port: Number(new URL(url.replace('etcd:', 'http:')).port) })
  onTestFinished(() => proxy.close())
  const store = await etcd({ url: `etcd://127.0.0.1:${proxy.port}`, layout })
  onTestFinished(() => store.close())
  const late: Slowly['late'] = async (ask) => {
    await proxy.set({ toClient: 'hold' })
    const asking = ask()
    await pause(400)
    const answeredAt = performance.now()
    await proxy.heal()
    const place = await asking
    if (place === null) throw new Error('there is no place')
    return { place, answeredAt }
  }
  return { store, late }
}
