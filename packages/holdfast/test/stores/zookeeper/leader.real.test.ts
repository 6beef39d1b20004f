/** Locks in use while the leader is killed or stopped: never two at once, and all are served in the end. */
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { LockLostError, StoreError } from '../../../src/contract/errors.ts'
import type { Held } from '../../../src/hold/held.ts'
import type { Holdfast } from '../../../src/holdfast.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'
import { Rig, until } from './rig.ts'

let rig: Rig

beforeAll(async () => {
  // Followers leave a silent leader after 10 ticks, 2 s.
  rig = await Rig.open(3, { config: { syncLimit: 10 } })
})

afterEach(() => rig.clear())
afterAll(() => rig?.[Symbol.asyncDispose]())

/** Counts visits, and notes whoever comes in while another may still believe in its hold. */
class Room {
  visits = 0
  losses = 0
  readonly faults: string[] = []
  #last = 0n
  #inside: Held | null = null

  async visit(held: Held): Promise<void> {
    const other = this.#inside
    // Judged by what the other itself would say at this instant.
    if (other !== null && other.state !== 'lost') this.faults.push(`${held.token} came in beside ${other.token}`)
    if (held.token <= this.#last) this.faults.push(`token ${held.token} after ${this.#last}`)
    this.#last = held.token
    this.#inside = held
    await new Promise((resolve) => setTimeout(resolve, 2))
    if (this.#inside === held) this.#inside = null
    this.visits++
  }

  async frequent(hf: Holdfast, line: string, done: () => boolean): Promise<void> {
    const mutex = hf.mutex(line, { fairness: 'strict' })
    while (!done()) {
      try {
        await mutex.using((held) => this.visit(held), { waitMs: 2_000 })
      } catch (error) {
        if (error instanceof LockLostError) this.losses++
        // An outage is told, not hidden; contention cannot last 2 s here, but an outage can.
        else if (!(error instanceof StoreError) && (error as Error).name !== 'AcquireTimeoutError') throw error
      }
    }
  }
}

interface Nemesis {
  readonly what: string
  strike(leader: Server): Promise<void> | void
  heal(leader: Server): Promise<void> | void
}

const NEMESES: Nemesis[] = [
  { what: 'killed', strike: (leader) => leader.kill(), heal: (leader) => leader.start() },
  {
    what: 'stopped',
    strike: (leader) => leader.pause(),
    heal: async (leader) => {
      leader.resume()
      await leader.ready()
    },
  },
]

test.each(NEMESES)('the leader is $what under contended locks', async ({ what, strike, heal }) => {
  const line = `leader/${what}`
  const room = new Room()
  let done = false
  const clients = [await rig.holdfast(), await rig.holdfast(), await rig.holdfast()]
  const users = clients.flatMap((hf) => [1, 2].map(() => room.frequent(hf, line, () => done)))
  await until('some visits before', () => (room.visits > 20 ? true : null))
  const leader = await rig.leader()
  await strike(leader)
  const before = room.visits
  await until('somebody else leads', async () => ((await rig.leader()) === leader ? null : true))
  await until('visits under the new leader', () => (room.visits > before + 100 ? true : null))
  await heal(leader)
  const healed = room.visits
  await until('visits after the healing', () => (room.visits > healed + 20 ? true : null))
  done = true
  await Promise.all(users)
  expect(room.faults).toEqual([])
})

test('a majority stopped: holds are lost by their own clock, and locks work again afterwards', async () => {
  const hf = await rig.holdfast()
  const states: string[] = []
  const held = await hf.mutex('majority', { onState: (state) => void states.push(state) }).acquire()
  const stopped = rig.servers.slice(0, 2)
  for (const server of stopped) server.pause()
  await until('the loss is told', () => (held.state === 'lost' ? true : null))
  expect(states).toEqual(['held', 'at-risk', 'lost'])
  for (const server of stopped) server.resume()
  for (const server of rig.servers) await server.ready()
  const again = await hf.mutex('majority').acquire()
  expect(again.token).toBeGreaterThan(held.token)
  expect(await again.release()).toBe(true)
})
