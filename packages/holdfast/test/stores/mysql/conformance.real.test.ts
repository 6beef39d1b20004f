import { afterAll } from 'vitest'
import { requireServers } from '../../../src/testbed/require.ts'
import { testbed } from '../../../src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['mariadb'])
const bed = await testbed()
const { url } = await bed.mariadb()
afterAll(() => bed.close())

await conform('mysql on MariaDB', {
  module: new URL('../../../dist/src/drivers/mysql/index.js', import.meta.url),
  config: { url },
})
