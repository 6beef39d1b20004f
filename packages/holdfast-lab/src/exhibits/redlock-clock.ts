/** Redlock, and the clock of one server jumps forward: its vote lapses early, and another client gets it. */
import { bareMajorityActs } from '../lab/bare-majority.ts'
import { council, requireClock } from '../lab/council.ts'
import type { Exhibit } from '../lab/exhibit.ts'

const JUMP_MS = 60_000

export const redlockClock: Exhibit = {
  name: 'redlock-clock',
  title: 'Redlock, and the clock of one server jumps',
  recipe: 'SET lock value NX PX ttl on five servers; it is mine if three said OK in time',
  source: 'the Redlock page of Redis; the schedule is Kleppmann’s, "How to do distributed locking" (2016)',
  lesson:
    'Redis leases follow a wall clock. Holdfast refuses a server whose clock is far from the others’ and ' +
    'silences one that jumped; if a majority jumps at once, two may hold.',
  servers: ['redis'],
  tools: ['compiler'],
  kind: 'deterministic',
  async run(stage) {
    requireClock((await council(stage)).clock)
    return bareMajorityActs(stage, {
      text: `its clock jumps ${JUMP_MS} ms ahead`,
      forget: ({ clock }) => clock.set(JUMP_MS),
      mend: ({ clock }) => clock.set(0),
    })
  },
}
