/** The herd on ZooKeeper: all watch the one node, and all try to create it when it goes. */
import { isZooKeeperError, ZooKeeperClient } from 'holdfast/internal'
import { zookeeper } from 'holdfast/zookeeper'
import { addresses, zookeeperServers } from '../lab/ensembles.ts'
import type { Exhibit } from '../lab/exhibit.ts'
import { fixedKeyAct, lineAct } from '../lab/herd.ts'

export const herdZookeeper: Exhibit = {
  name: 'herd-zookeeper',
  title: 'the herd on ZooKeeper: 50 watch one node',
  recipe: 'create(/lock), ephemeral; who fails calls exists(/lock, watch), and tries again when it goes',
  source: 'the first recipe that comes to mind; ZooKeeper’s own page on locks and all tutorials warn of the herd',
  lesson: 'Sequential nodes, and each watches the one before it: then a release wakes one.',
  servers: ['zookeeper'],
  kind: 'statistical',
  async run(stage) {
    const { servers } = await zookeeperServers(stage)
    const fixed = await fixedKeyAct(stage, 'one node, and all watch it', async (name) => {
      const client = new ZooKeeperClient({ servers: addresses(servers).split(','), requestTimeoutMs: 20_000 })
      stage.defer(() => client.close({ timeoutMs: 5_000 }))
      const path = `/${name}`
      return {
        async take(wake) {
          for (;;) {
            try {
              await client.create(path, Buffer.from(name), { mode: 'ephemeral' })
              return true
            } catch (error) {
              if (!isZooKeeperError(error, 'NodeExists')) throw error
            }
            const isTold = (event: { readonly type: string }): void => {
              if (event.type === 'deleted') wake()
            }
            // The node went in the meantime, and no watch on it will fire, so try again.
            if ((await client.exists(path, { watch: isTold })) !== null) return false
          }
        },
        free: () => client.delete(path),
      }
    })
    return [fixed, await lineAct(stage, () => zookeeper(`zookeeper://${addresses(servers)}`))]
  },
}
