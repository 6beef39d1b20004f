import { afterAll } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.sentinel()

await conform('redis behind Sentinel', {
  module: new URL('../../../build/src/stores/redis/index.js', import.meta.url),
  config: url,
})
