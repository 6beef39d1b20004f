/** One of three ZooKeeper servers is cut off: it must grant nothing, and its holder must know in time. */
import { isZooKeeperError, ZooKeeperClient } from 'holdfast/internal'
import { addresses, zookeeperEnsemble } from '../lab/ensembles.ts'
import type { Act, Exhibit } from '../lab/exhibit.ts'
import { minorityActs, type Side } from '../lab/minority.ts'
import type { Stage } from '../lab/stage.ts'
import type { Server } from '../testbed/server.ts'

const TTL_MS = 1_500
const PATIENCE_MS = 1_500

/** The simplest recipe: the lock is a node, and whoever creates the node holds the lock. */
function side(stage: Stage, servers: readonly Server[]): Side {
  const connect = (): ZooKeeperClient => {
    const client = new ZooKeeperClient({
      servers: servers.map(({ port }) => `127.0.0.1:${port}`),
      requestTimeoutMs: PATIENCE_MS,
    })
    stage.defer(() => client.close({ timeoutMs: 1_000 }))
    return client
  }
  // A connection that waits in vain for an answer to its change is given up. So looks have a connection of their own.
  const [client, reader] = [connect(), connect()]
  return {
    async take(key, owner) {
      try {
        await client.create(`/${key}`, Buffer.from(owner))
        return true
      } catch (error) {
        if (isZooKeeperError(error, 'NodeExists')) return false
        throw error
      }
    },
    async pass(key, owner) {
      await client.setData(`/${key}`, Buffer.from(owner))
    },
    async look(key) {
      return (await reader.getData(`/${key}`)).data.toString()
    },
  }
}

async function run(stage: Stage): Promise<readonly Act[]> {
  const ensemble = await zookeeperEnsemble(stage)
  const { alone, others } = ensemble
  const lone = await stage.holdfast(`zookeeper://${addresses([alone])}`, { connectTimeoutMs: PATIENCE_MS })
  const major = await stage.holdfast(`zookeeper://${addresses(others)}`)
  return minorityActs(stage, {
    lone: side(stage, [alone]),
    major: side(stage, others),
    localRead: 'a read without sync',
    holdfast: { lone, major },
    ttlMs: TTL_MS,
    ensemble,
  })
}

export const minorityZookeeper: Exhibit = {
  name: 'minority-zookeeper',
  title: 'the minority side of a 3-node ZooKeeper refuses; what it says of owners is old',
  recipe: 'create(/lock, owner), ephemeral: who creates it holds it',
  source: 'tutorials, as the more reliable kind of lock; a read without sync is the trap beside it',
  lesson: 'Nothing is granted without a majority. Never ask a server that answers alone who owns a lock.',
  servers: ['zookeeper'],
  kind: 'deterministic',
  run,
}
