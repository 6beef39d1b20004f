import { afterAll } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['postgres'])
const bed = await testbed()
const { url } = await bed.postgres()
afterAll(() => bed.close())

await conform('postgres through postgres.js', {
  module: new URL('../../../build/src/stores/postgres/index.js', import.meta.url),
  config: { url, client: 'postgres' },
})
