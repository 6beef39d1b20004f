import { afterAll } from 'vitest'
import { requireServers } from '../../../../holdfast-lab/src/testbed/require.ts'
import { testbed } from '../../../../holdfast-lab/src/testbed/testbed.ts'
import { conform } from '../../conform.ts'

await requireServers(['redis'])
const bed = await testbed()
afterAll(() => bed.close())
const { url } = await bed.redis()

/**
 * What rests on the client: answers as they come, wake-ups, losses. The rest is the same driver, and judged over the
 * newest clients; upgrades and cells over these are in versions.test.ts.
 */
const LAWS = new Set(['exclusion', 'tokens', 'life', 'watch', 'owner'])
/** Of processes these two; each of the others takes seconds, and says more of the store than of the client. */
const OF_PROCESSES = /holder killed with -9|process that ends \(fall off\)/

for (const name of ['ioredis4', 'ioredis5', 'redis4', 'redis5']) {
  const module = new URL('./over-older-client.js', import.meta.url)
  await conform(
    `redis over a client of ${name}`,
    { module, config: { name, url } },
    ({ law, name: what }) => LAWS.has(law) && (!/process|killed|event loop/.test(what) || OF_PROCESSES.test(what)),
  )
}
