import { afterAll } from 'vitest'
import { initRedlock } from '../../../src/drivers/redlock/index.ts'
import { requireServers } from '../../../src/testbed/require.ts'
import { testbed } from '../../../src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.redlock(5)
await initRedlock(url)

await conform('redlock on five servers', {
  module: new URL('../../../dist/src/drivers/redlock/index.js', import.meta.url),
  config: url,
})
