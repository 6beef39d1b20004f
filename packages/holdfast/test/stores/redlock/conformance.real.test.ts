import { afterAll } from 'vitest'
import { initRedlock } from '../../../src/stores/redlock/index.ts'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.redlock(5)
// A case of the suite has a lease of two minutes.
await initRedlock(url, { maxTtlMs: 600_000 })

await conform('redlock on five servers', {
  module: new URL('../../../build/src/stores/redlock/index.js', import.meta.url),
  config: url,
})
