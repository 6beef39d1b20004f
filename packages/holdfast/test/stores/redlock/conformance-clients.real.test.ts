import { afterAll } from 'vitest'
import { initRedlock } from '../../../src/stores/redlock/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.redlock(3)
// A case of the suite has a lease of two minutes.
await initRedlock(url, { maxTtlMs: 600_000 })

/**
 * What rests on the way to a server; the rest is the same driver on the same servers, and judged in
 * conformance.test.ts.
 */
const LAWS = new Set(['watch', 'exclusion', 'settle', 'names', 'list', 'swap', 'election', 'multi', 'limiter', 'latch'])

await conform(
  "redlock on three servers, over a user's clients",
  { module: new URL('./over-clients.js', import.meta.url), config: url },
  ({ law }) => LAWS.has(law),
)
