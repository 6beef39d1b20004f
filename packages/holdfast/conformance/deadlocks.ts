/**
 * Circles of waiters: found across clients, refused inside one client on request, and never seen where there is none.
 */
import assert from 'node:assert/strict'
import { DeadlockError } from '../src/contract/errors.ts'
import type { Holdfast } from '../src/holdfast.ts'
import type { Draft } from './case.ts'
import { crowd, lineOf, type Rig, until, within } from './rig.ts'

function lines(hf: Holdfast): { list: (prefix: string) => ReturnType<Holdfast['list']> } {
  return { list: (prefix) => hf.list({ prefix }) }
}

/** Holds one line, and waits for another when the test says so. */
class Grasp {
  readonly holding: Promise<void>
  readonly ended: Promise<void>
  reach: () => void = () => {}

  constructor(hf: Holdfast, held: string, wanted: string, signal: AbortSignal) {
    const told = new Promise<void>((resolve) => {
      this.reach = resolve
    })
    let isHolding = (): void => {}
    this.holding = new Promise((resolve) => {
      isHolding = resolve
    })
    this.ended = hf.mutex(held).using(async () => {
      isHolding()
      await told
      try {
        await hf.mutex(wanted).using(() => {}, { signal })
      } catch (error) {
        if (error !== signal.reason) throw error
      }
    })
  }
}

/** The circles of this case only: other cases may run on the same store. */
async function circles(hf: Holdfast, names: readonly string[]): Promise<string[][]> {
  const all = (await hf.deadlocks()).map((circle) => circle.map(({ line }) => line))
  return all.filter((circle) => circle.some((line) => names.includes(line)))
}

/** Cases for stores in which waiters are seen. */
function seen(name: string, run: (rig: Rig) => Promise<void>): Draft {
  return {
    law: 'deadlock',
    name,
    async run(rig) {
      if ((await rig.traits()).fair) await run(rig)
    },
  }
}

export const deadlocks: Draft[] = [
  seen('three clients that wait in a circle are named, with what they hold', async (rig) => {
    const clients = [await rig.holdfast({ label: 'a' }), await rig.holdfast({ label: 'b' }), await rig.holdfast()]
    const names = [rig.name('a'), rig.name('b'), rig.name('c')] as const
    const hf = clients[2] as Holdfast
    const controller = new AbortController()
    const grasps = clients.map((client, i) => {
      return new Grasp(client, names[i] as string, names[(i + 1) % 3] as string, controller.signal)
    })
    await within('each holds one', Promise.all(grasps.map(({ holding }) => holding)))
    grasps[0]?.reach()
    grasps[1]?.reach()
    for (const name of names.slice(1)) {
      await until('two wait', async () => (await crowd(lines(hf), name)) === 2)
    }
    assert.deepEqual(await circles(hf, names), [], 'a chain is no circle')
    grasps[2]?.reach()
    await until('the circle is seen', async () => (await circles(hf, names)).length === 1)
    const circle = (await hf.deadlocks()).find((parties) => parties.some(({ line }) => names.includes(line as never)))
    assert.deepEqual(new Set(circle?.map(({ line }) => line)), new Set(names))
    const first = circle?.find(({ line }) => line === names[1])
    assert.equal(first?.label, 'a')
    assert.equal(first?.pid, process.pid)
    const holder = (await lineOf(lines(hf), names[0])).holders[0]
    assert.deepEqual(first?.holds, [{ line: names[0], token: holder?.token }])
    controller.abort(new Error('enough'))
    await within('all have gone', Promise.all(grasps.map(({ ended }) => ended)))
    assert.deepEqual(await circles(hf, names), [])
  }),
  seen('inside one process it is refused before it begins, if that is asked for', async (rig) => {
    const hf = await rig.holdfast({ refuseDeadlock: true })
    const [a, b] = [rig.name('a'), rig.name('b')]
    const controller = new AbortController()
    const other = new Grasp(hf, a, b, controller.signal)
    await within('it holds the one', other.holding)
    await hf.mutex(b).using(async () => {
      other.reach()
      await until('it waits for the other', async () => (await crowd(lines(hf), b)) === 2)
      await assert.rejects(hf.mutex(a).acquire(), DeadlockError)
      assert.equal(await hf.mutex(a).tryAcquire(), null, 'a try does not wait, and is not refused')
    })
    await within('the other has been served', other.ended)
  }),
]
