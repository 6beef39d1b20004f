import { afterAll } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.redis()

await conform('redis over a client of @redis/client', {
  module: new URL('./over-node-redis.js', import.meta.url),
  config: url,
})
