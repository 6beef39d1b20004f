/** A number in an etcd, read and written by transactions that carry the guard's compare. */
import type { Held } from '../../src/hold/held.ts'
import { type Compare, EtcdClient, type RequestOp, type ResponseOp } from '../../src/clients/etcd/index.ts'
import { etcd } from '../../src/stores/etcd/index.ts'
import { etcdGuard } from '../../src/fence/index.ts'
import type { Target } from './target.ts'

const KEY = Buffer.from('stock:42')

/** What a caller makes of a compare that did not hold. */
class CompareFailed extends Error {
  readonly code = 'COMPARE_FAILED'
}

export async function etcdTarget(url: string): Promise<Target> {
  const store = await etcd(url)
  const client = new EtcdClient({ endpoints: [url.replace('etcd:', 'http:')] })
  // Asked for once: a holder that was paused still has it when it goes on.
  const compares = new Map<bigint, Compare>()
  const txn = async (held: Held, op: RequestOp): Promise<ResponseOp | undefined> => {
    const compare = compares.get(held.token) ?? etcdGuard(store, held).compare
    compares.set(held.token, compare)
    const { succeeded, responses } = await client.txn({ compare: [compare], success: [op] })
    if (!succeeded) throw new CompareFailed()
    return responses[0]
  }
  return {
    store,
    check: async () => {
      throw new Error('etcd remembers nothing')
    },
    async read(held) {
      const [pair] = (await txn(held, { range: { key: KEY } }))?.range?.kvs ?? []
      return pair === undefined ? 0 : Number(Buffer.from(pair.value).toString())
    },
    async write(held, value) {
      await txn(held, { put: { key: KEY, value: Buffer.from(String(value)) } })
    },
    close: async () => client.close(),
  }
}
