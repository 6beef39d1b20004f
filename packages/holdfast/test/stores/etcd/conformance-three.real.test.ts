import { afterAll, test } from 'vitest'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

test.skipIf(skipped('etcd'))('etcd is there', () => requireServers(['etcd']))

// Cases that use processes need the built driver: npm run build.
if (!skipped('etcd')) {
  await requireServers(['etcd'])
  const bed = await testbed()
  const { url } = await bed.etcd(3)
  afterAll(() => bed.close())
  await conform('etcd, three members', {
    module: new URL('../../../build/src/stores/etcd/index.js', import.meta.url),
    config: url,
  })
}
