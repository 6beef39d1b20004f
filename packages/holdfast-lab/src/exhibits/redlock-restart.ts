/** Redlock, and one server restarts without its data: it votes again, for somebody else. */
import type { Server } from '../testbed/server.ts'
import { bareMajorityActs } from '../lab/bare-majority.ts'
import type { Exhibit } from '../lab/exhibit.ts'

export const redlockRestart: Exhibit = {
  name: 'redlock-restart',
  title: 'Redlock, and one server restarts empty',
  recipe: 'SET lock value NX PX ttl on five servers; it is mine if three said OK in time',
  source:
    'the Redlock page of Redis, which asks for persistence or delayed restarts; the schedule is Kleppmann’s (2016)',
  lesson: 'A server that forgot must not vote until every lease that it may have forgotten is over.',
  servers: ['redis'],
  kind: 'deterministic',
  run: (stage) =>
    bareMajorityActs(stage, {
      text: 'it is killed, and restarts without its data',
      async forget({ servers }) {
        const third = servers[2] as Server
        await third.kill()
        await third.restart({ keepData: false })
      },
      mend: () => Promise.resolve(),
    }),
}
