import { afterAll } from 'vitest'
import { requireServers } from '../../../src/testbed/require.ts'
import { testbed } from '../../../src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const server = await bed.redis()

await conform('redis over our own connection', {
  module: new URL('../../../dist/src/drivers/redis/index.js', import.meta.url),
  config: server.url,
})
