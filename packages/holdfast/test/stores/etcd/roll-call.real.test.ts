import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type EtcdStore, etcd } from '../../../src/stores/etcd/index.ts'
import type { Entry } from '../../../src/contract/driver.ts'
import { skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { oneMember, rawClient } from './rig.ts'

let url: string
beforeAll(
  oneMember((at) => {
    url = at
  }),
)

async function openStore(): Promise<EtcdStore> {
  const store = await etcd(url)
  onTestFinished(() => store.close())
  return store
}

const entryOf = (line: string): Entry => ({
  line,
  id: randomBytes(16).toString('hex'),
  weight: 1,
  capacity: 1,
  ttlMs: 60_000,
  data: '{}',
})

/** More than are looked at one by one: these are called by the roll. */
const entries = (name: string, count = 100): Entry[] => Array.from({ length: count }, (_, i) => entryOf(`${name}-${i}`))

describe.skipIf(skipped('etcd'))('many holds', () => {
  test('a place entered after the roll was called is not lost when its heartbeat shares that roll', async () => {
    const store = await openStore()
    const early = entries('early')
    for (const entry of early) expect(await store.enter(entry, true)).not.toBeNull()
    for (let i = 0; i < 20; i++) {
      const late = entryOf(`late-${i}`)
      const [, place] = await Promise.all([store.touch(early), store.enter(late, true)])
      expect(place?.ahead).toBe(0)
      const touched = await store.touch([...early, late])
      expect(touched.filter((each) => each === null)).toEqual([])
      await store.leave(late)
    }
  })

  test('of those that did not answer, who is gone is told, and nobody else', async () => {
    const store = await openStore()
    const all = entries('some')
    for (const entry of all) expect(await store.enter(entry, true)).not.toBeNull()
    const client = rawClient(url)
    for (const i of [0, 50, 99]) {
      const key = Buffer.from(`holdfast/line/some-${i}/`)
      expect(await client.deleteRange({ key, rangeEnd: Buffer.from(`holdfast/line/some-${i}0`) })).toMatchObject({
        deleted: 1,
      })
    }
    const touched = await store.touch(all)
    expect(touched.flatMap((place, i) => (place === null ? [i] : []))).toEqual([0, 50, 99])
  })
})
