/**
 * The clock of a server is moved as a clock is set: what the server waits for comes no sooner and no later. MariaDB
 * waits until moments by its own clock, so that a wait after a step back was over at once: a primary told its replica
 * that it lives thousands of times a second, and InnoDB, which counts waits as seconds, ended the replica by itself.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { mariadbAsk } from '../../src/testbed/mariadb-ask.ts'
import { requireServers, requireTools, skipped } from '../../src/testbed/require.ts'
import type { Server } from '../../src/testbed/server.ts'
import { type Testbed, testbed } from '../../src/testbed/testbed.ts'
import { type Clock, Clocks } from '../../src/torture/backend/clock.ts'

if (!skipped('mariadb')) {
  let bed: Testbed
  let clock: Clock
  let server: Server

  beforeAll(async () => {
    await requireServers(['mariadb'])
    await requireTools(['compiler'])
    bed = await testbed()
    clock = await new Clocks(bed.dir).make('waits')
    server = await bed.mariadb(clock.env === null ? {} : { env: clock.env })
  }, 60_000)
  afterAll(() => bed.close())

  for (const hours of [-1, 1]) {
    test(`with its clock ${hours} h from the true time, a server waits for a second`, { timeout: 60_000 }, async () => {
      await clock.set(hours * 3_600_000)
      const before = Date.now()
      const [[now] = []] = await mariadbAsk(server, 'SELECT UNIX_TIMESTAMP(NOW(6))')
      const ahead = Number(now) * 1_000 - before
      expect(Math.round(ahead / 3_600_000)).toBe(hours)

      const from = performance.now()
      const [[waited] = []] = await mariadbAsk(server, "SELECT MASTER_GTID_WAIT('0-1-1', 1)")
      expect(waited, 'the wait was not ended by what it waits for').toBe(-1)
      expect(performance.now() - from).toBeGreaterThan(990)
    })
  }
}
