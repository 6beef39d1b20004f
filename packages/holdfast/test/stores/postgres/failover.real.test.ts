/** A streaming standby, asynchronous and synchronous, is promoted. */
import { expect, test } from 'vitest'
import { postgresAsk } from '../../../../holdfast-lab/src/testbed/postgres-replica.ts'
import { requireTools } from '../../../../holdfast-lab/src/testbed/require.ts'
import { Clocks } from '../../../../holdfast-lab/src/torture/backend/clock.ts'
import { sqlGuard } from '../../../src/fence/index.ts'
import { postgres } from '../../../src/stores/postgres/index.ts'
import { failsOver } from '../sql/failover.ts'

const stage = failsOver({
  server: 'postgres',
  pair: (bed, synchronous) => bed.postgresReplica({ synchronous }),
  open: postgres,
  guard: 'pg',
  makeGuard: (server) => postgresAsk(server, sqlGuard().migration('postgres')),
  direct: (server) => server.url,
})

// Those that the standby has heard of it never gives again: it continues from the row.
test('a new primary whose clock is behind: tokens fall below those that were lost', async () => {
  await requireTools(['compiler'])
  const clock = await new Clocks(stage.bed.dir).make('behind')
  const pair = await stage.keep(await stage.bed.postgresReplica({ standbyEnv: clock.env ?? {} }))
  const hf = await stage.open(pair.url)
  const heard = await hf.mutex('line').acquire()
  await heard.release()
  await pair.caughtUp()
  await pair.stream.set({ toClient: 'hold' })
  const lost = await hf.mutex('line').acquire()
  await clock.set(-60_000)
  await pair.promote()
  await lost.release()
  const next = await (await stage.open(pair.url)).mutex('line').acquire()
  expect(next.token).toBeGreaterThan(heard.token)
  expect(next.token).toBeLessThan(lost.token)
})
