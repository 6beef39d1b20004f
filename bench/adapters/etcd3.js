/** The Lock of the etcd3 package. It can't wait: a caller that finds the lock taken asks again 50 ms later. */
import { setTimeout as sleep } from 'node:timers/promises'
import { load } from '../load.js'
import { endpointsOf } from './raw-etcd.js'

/**
 * @typedef {{ acquire(): Promise<unknown>, release(): Promise<unknown> }} Etcd3Lock
 * @typedef {{ lock(key: string): { ttl(seconds: number): Etcd3Lock }, close(): void }} Etcd3
 * @typedef {{ Etcd3: new (options: { hosts: string[] }) => Etcd3, EtcdLockFailedError: new () => Error }} Etcd3Module
 */

/** @type {import('../adapter.ts').Adapter} */
export const etcd3 = {
  name: 'etcd3',
  store: 'etcd',
  role: 'peer',
  packages: ['etcd3'],
  only: ['uncontended', 'contended'],
  async open({ url, ttlMs }) {
    const module = /** @type {Etcd3Module & { default?: Etcd3Module }} */ (await load('etcd3'))
    const { Etcd3, EtcdLockFailedError } = module.default ?? module
    const client = new Etcd3({ hosts: endpointsOf(url) })
    return {
      lock: (key) => ({
        async acquire() {
          for (;;) {
            const lock = client.lock(`etcd3/${key}`).ttl(Math.ceil(ttlMs / 1_000))
            try {
              await lock.acquire()
              return lock
            } catch (error) {
              if (!(error instanceof EtcdLockFailedError)) throw error
              await sleep(50)
            }
          }
        },
        release: (lock) => /** @type {Etcd3Lock} */ (lock).release(),
      }),
      close: () => client.close(),
    }
  },
}
