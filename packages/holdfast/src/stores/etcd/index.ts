/** `holdfast/etcd`: locks on an etcd cluster. */
import { EtcdClient } from '../../clients/etcd/index.ts'
import { EtcdDriver } from './driver.ts'
import { GoLayout } from './go-layout.ts'
import type { EtcdStore } from './guard.ts'
import { KeyDriver } from './key-driver.ts'
import { LineLayout } from './keys.ts'
import { type EtcdOptions, type EtcdSettings, resolveEtcd } from './options.ts'
import { survey } from './server-check.ts'

export type { EtcdTls } from '../../clients/etcd/index.ts'
export type { EtcdGuard, EtcdStore } from './guard.ts'
export type { EtcdLayout, EtcdOptions } from './options.ts'

/**
 * Connects to an etcd cluster, and asks for its shortest lease, which depends on its election timeout. Warns
 * (`HF_ETCD_LEASES`) if this version may end leases that were renewed.
 * @param given a URL such as `etcd://h1:2379,h2:2379`, or options.
 */
export async function etcd(given: string | URL | EtcdOptions): Promise<EtcdStore> {
  const settings = resolveEtcd(given)
  const client = new EtcdClient(settings.client)
  try {
    const ttlMsMin = (await client.lease.shortest()) * 1_000
    await survey(client, settings.timeoutMs)
    return makeStore(client, settings, ttlMsMin)
  } catch (error) {
    await client.close()
    throw error
  }
}

function makeStore(client: EtcdClient, settings: EtcdSettings, ttlMsMin: number): EtcdStore {
  const { layout, prefix, timeoutMs, runtime } = settings
  const keys = layout === 'go' ? new GoLayout(prefix) : new LineLayout(prefix)
  const common = { client, keys, timeoutMs, runtime, ttlMsMin }
  return layout === 'key'
    ? new KeyDriver({ ...common, prefix })
    : new EtcdDriver({ ...common, counting: layout === 'line' })
}

export default etcd
