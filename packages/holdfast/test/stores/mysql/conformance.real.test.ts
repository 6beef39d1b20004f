import { afterAll } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['mariadb'])
const bed = await testbed()
const { url } = await bed.mariadb()
afterAll(() => bed.close())

await conform('mysql on MariaDB', {
  module: new URL('../../../build/src/stores/mysql/index.js', import.meta.url),
  config: { url },
})
