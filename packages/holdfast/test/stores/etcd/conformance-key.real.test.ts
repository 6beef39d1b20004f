import { afterAll, test } from 'vitest'
import { requireServers, skipped } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

/** What the layout itself decides; the rest (names, cells, re-entry) is the same code as in the other layouts. */
const LAWS = ['enter', 'touch', 'tokens', 'exclusion', 'life', 'leave', 'settle', 'multi', 'enterAll']
/**
 * Nobody stands in line there, and there are no readers: these cases wait to see a waiter in it, or begin with a
 * reader.
 */
const NEEDS_A_LINE = new RegExp(
  [
    'write lock',
    'readers',
    'a waiter gets it',
    'an abort rejects',
    'leaving twice',
    'dead waiter',
    'contended acquisition goes',
    'close gives back',
    'all are held together',
    'makes no ghost',
  ].join('|'),
)

test.skipIf(skipped('etcd'))('etcd is there', () => requireServers(['etcd']))

// Cases that use processes need the built driver: npm run build.
if (!skipped('etcd')) {
  await requireServers(['etcd'])
  const bed = await testbed()
  const { url } = await bed.etcd(1)
  afterAll(() => bed.close())
  const module = new URL('../../../build/src/stores/etcd/index.js', import.meta.url)
  await conform('etcd, the fixed-key layout', { module, config: { url, layout: 'key' } }, ({ law, name }) => {
    return LAWS.includes(law) && !NEEDS_A_LINE.test(name)
  })
}
