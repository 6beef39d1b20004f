/** `holdfast/zookeeper`: locks on a ZooKeeper ensemble, by a client of our own. */
import { system } from '../../system.ts'
import { UsageError } from '../../contract/errors.ts'
import { parseStoreUrl } from '../../store-url.ts'
import { ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import { CuratorLayout } from './curator.ts'
import { ZookeeperDriver } from './driver.ts'
import { explained } from './errors.ts'
import { LineLayout } from './layout.ts'
import { escapeName } from './names.ts'
import { store as opener } from './open.ts'
import { fromStoreUrl, type ResolvedOptions, resolveOptions, type ZookeeperOptions } from './options.ts'

export type { ZookeeperOptions } from './options.ts'

/** More than any server grants: so the server grants the longest session it allows. */
const LONGEST_MS = 2 ** 31 - 1

/**
 * Connects, and learns how long sessions may last there. Rejects if no server answers in time.
 * @param store `zookeeper://[user:password@]h1:2181,h2/chroot?layout=curator`, or options. `zookeepers:` is TLS; then
 * `ca`, `cert` and `key` may name files.
 */
export async function zookeeper(store: string | URL | ZookeeperOptions): Promise<ZookeeperDriver> {
  const given = typeof store === 'string' || store instanceof URL ? ofText(String(store)) : store
  const options = resolveOptions(given)
  const { layout, prefix, acl } = options
  const { runtime = system } = given
  const connect = (sessionMs: number): ZooKeeperClient => makeClient(options, sessionMs, () => runtime.now())
  const [shortestMs, max] = await Promise.all([
    grantedMs(connect(1), options.connectTimeoutMs),
    grantedMs(connect(LONGEST_MS), options.connectTimeoutMs),
  ])
  // Servers grant two ticks or more. What the leader knows of a session can be half a tick old, which is too much for a
  // session of two ticks.
  const min = Math.min(shortestMs * 2, max)
  return new ZookeeperDriver({
    layout: layout === 'curator' ? new CuratorLayout() : new LineLayout(prefix),
    base: `/${escapeName(prefix)}`,
    acl,
    runtime,
    connect,
    sessionMs: { min, max },
  })
}

export default zookeeper

function ofText(url: string): ZookeeperOptions {
  const parsed = parseStoreUrl(url, [opener])
  const stray = Object.keys(parsed.options).find((name) => name !== 'prefix' && name !== 'connectTimeoutMs')
  if (stray === undefined) return fromStoreUrl(parsed, parsed.options)
  throw new UsageError(
    `${stray} is no option of the ZooKeeper store: give it to holdfast(), or give holdfast() the URL`,
  )
}

function makeClient(options: ResolvedOptions, sessionTimeoutMs: number, now: () => number): ZooKeeperClient {
  const { servers, chroot, identities, tls } = options
  // Only an answer in which the leader took part proves that a session lives. A follower cut off from its leader
  // answers pings for seconds after the leader has given the lock to somebody else.
  const session = { sessionTimeoutMs, heartbeat: 'sync', renew: true, now } as const
  return new ZooKeeperClient({ servers, chroot, identities, tls, ...session })
}

/** The session time that the servers grant for a request. */
async function grantedMs(client: ZooKeeperClient, timeoutMs: number): Promise<number> {
  try {
    let granted = 0
    client.onState((state) => {
      if (state === 'connected') granted = client.session?.grantedMs ?? 0
    })
    await client.connect({ timeoutMs })
    // The answer comes after the answers to the identities, so a wrong identity is reported now.
    await client.sync('/', { timeoutMs })
    return granted
  } catch (error) {
    throw explained(error)
  } finally {
    await client.close({ timeoutMs })
  }
}
