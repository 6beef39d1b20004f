/** The raw limit on etcd: two transactions a pair through the driver's own client, on a lease that is there already. */
import { loadBuilt } from '../load.js'

/** @type {import('../adapter.ts').Adapter} */
export const rawEtcd = {
  name: 'raw-etcd',
  store: 'etcd',
  role: 'raw',
  only: ['uncontended'],
  renews: false,
  recovers: false,
  async open({ url }) {
    /** @type {typeof import('../../packages/holdfast/src/clients/etcd/index.ts')} */
    const { EtcdClient } = await loadBuilt('clients/etcd/index.js')
    const client = new EtcdClient({ endpoints: endpointsOf(url) })
    const { id: lease } = await client.lease.grant({ ttlS: 600 })
    const value = Buffer.from('{}')
    return {
      lock(name) {
        const key = Buffer.from(`raw/${name}`)
        return {
          async acquire() {
            const { succeeded, header } = await client.txn({
              compare: [{ target: 'create', result: '=', key, createRevision: 0n }],
              success: [{ put: { key, value, lease } }],
            })
            if (!succeeded) throw new Error(`${name} is taken`)
            return header.revision
          },
          release: (revision) =>
            client.txn({
              compare: [{ target: 'create', result: '=', key, createRevision: /** @type {bigint} */ (revision) }],
              success: [{ deleteRange: { key } }],
            }),
        }
      },
      close: () => client.close(),
    }
  },
}

/** @param {string} url */
export function endpointsOf(url) {
  return url
    .replace(/^etcd:\/\//, '')
    .split(',')
    .map((host) => `http://${host}`)
}
