import { afterAll } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.cluster()

await conform('redis as a cluster', {
  module: new URL('../../../build/src/stores/redis/index.js', import.meta.url),
  config: url,
})
