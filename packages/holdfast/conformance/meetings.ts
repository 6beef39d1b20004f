/** Latches and barriers: parties wait for each other, whichever of them dies meanwhile. */
import assert from 'node:assert/strict'
import { CapacityMismatchError, UsageError } from '../src/contract/errors.ts'
import type { Draft } from './case.ts'
import { pause, type Rig, timesOut, until, within } from './rig.ts'

/** Cases for stores that have cells. */
function meeting(law: string, name: string, run: (rig: Rig) => Promise<void>): Draft {
  return {
    law,
    name,
    timeoutMs: 90_000,
    async run(rig) {
      const { counting, fair } = await rig.traits()
      if (counting && fair) await run(rig)
    },
  }
}

export const meetings: Draft[] = [
  meeting('latch', 'it opens with the last count, for all who wait, and stays open', async (rig) => {
    const [a, b] = [await rig.holdfast(), await rig.holdfast()]
    const name = rig.name('latch')
    const [mine, theirs] = [a.latch(name, 3), b.latch(name, 3)]
    const waiting = [mine.wait(), theirs.wait(), theirs.wait()]
    await timesOut((waitMs) => mine.wait({ waitMs }))
    assert.equal(await mine.countDown(), 2)
    assert.equal(await theirs.countDown(), 1)
    assert.equal(await theirs.count(), 1)
    assert.equal(await mine.countDown({ count: 5 }), 0, 'below zero there is nothing')
    await within('all have gone on', Promise.all(waiting))
    await theirs.wait({ waitMs: 0 })
    assert.equal(await theirs.countDown(), 0)
    await assert.rejects(a.latch(name, 4).count(), CapacityMismatchError)
    await mine.reset()
    assert.equal(await a.latch(name, 4).count(), 4)
  }),
  meeting('latch', 'counts of many at once are neither lost nor doubled', async (rig) => {
    const clients = [await rig.holdfast(), await rig.holdfast()]
    const name = rig.name('latch')
    const counting = Array.from({ length: 20 }, (_, i) => clients[i % 2]?.latch(name, 21).countDown() ?? fail())
    await within('all are counted', Promise.all(counting), 60_000)
    assert.equal(await clients[0]?.latch(name, 21).count(), 1)
  }),
  meeting('barrier', 'parties go on together, round after round', async (rig) => {
    const clients = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
    const name = rig.name('barrier')
    const rounds: number[][] = []
    const party = async (i: number): Promise<void> => {
      const barrier = clients[i]?.barrier(name, 3)
      for (let round = 0; round < 3; round++) {
        rounds[round] ??= []
        const before = rounds[round] as number[]
        before.push(i)
        assert.equal(await barrier?.wait(), round)
        assert.equal(before.length, 3, 'nobody goes on before all have come')
      }
    }
    await within('all rounds are over', Promise.all([party(0), party(1), party(2)]), 60_000)
    assert.equal(await clients[0]?.barrier(name, 3).arrived(), 0)
  }),
  meeting('barrier', 'parties of one process count one by one', async (rig) => {
    const hf = await rig.holdfast()
    const name = rig.name('barrier')
    const parties = Array.from({ length: 4 }, () => hf.barrier(name, 4).wait())
    assert.deepEqual(await within('all go on', Promise.all(parties)), [0, 0, 0, 0])
  }),
  meeting('barrier', 'who gives up, and who dies, counts no more; another may come instead', async (rig) => {
    const [a, b, c] = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
    const name = rig.name('barrier')
    await timesOut((waitMs) => a.barrier(name, 2).wait({ waitMs }), 100)
    const gone = b.barrier(name, 2)
    const left = gone.wait().catch((error: unknown) => error)
    await until('it has arrived', async () => (await a.barrier(name, 2).arrived()) === 1)
    // As if it had died: its places go with it, its arrival stays written down.
    await b.close()
    assert.ok((await left) instanceof Error)
    const waiting = a.barrier(name, 2).wait()
    await until('one stands there', async () => (await a.barrier(name, 2).arrived()) === 1)
    await pause(100)
    assert.equal(await within('another came', c.barrier(name, 2).wait()), 0)
    assert.equal(await within('both go on', waiting), 0)
    await assert.rejects(a.barrier(name, 3).wait(), CapacityMismatchError)
  }),
  meeting('barrier', 'bad numbers are refused', async (rig) => {
    const hf = await rig.holdfast()
    for (const wrong of [0, -1, 1.5, Number.NaN, 1e9]) {
      assert.throws(() => hf.latch('x', wrong), UsageError)
      assert.throws(() => hf.barrier('x', wrong), UsageError)
    }
    await assert.rejects(hf.latch('x', 1).countDown({ count: 0 }), UsageError)
  }),
]

function fail(): never {
  throw new Error('no such client')
}
