import { expect, test } from 'vitest'
import { FaultyDriver, type Method } from '../../conformance/faulty.ts'
import { makeInstance } from '../../src/holdfast.ts'
import { memory } from '../../src/stores/memory/index.ts'
import { ManualRuntime } from '../manual-runtime.ts'

// The extension gives the place another id, so the release may find nothing under the old id.
test.each(['before', 'after'] as const)(
  'a release that comes %s the answer of an extension keeps others away for minHoldMs',
  async (side) => {
    const runtime = new ManualRuntime()
    let release = (): Promise<unknown> => Promise.resolve()
    let releasing: Promise<unknown> = Promise.resolve()
    const meet = (_call: number, method: Method): void => {
      if (method === 'rename') releasing = release()
    }
    const hf = makeInstance(new FaultyDriver(memory({ runtime }), { [side]: meet }), { runtime })
    const held = await hf.mutex('report', { ttlMs: 20_000, minHoldMs: 4_000, renew: false }).acquire()
    release = () => held.release()
    await held.extend(40_000).catch(() => undefined)
    await releasing
    await runtime.pass(3_900)
    expect(await hf.mutex('report').tryAcquire()).toBeNull()
    await runtime.pass(200)
    expect(await hf.mutex('report').tryAcquire()).not.toBeNull()
  },
)
