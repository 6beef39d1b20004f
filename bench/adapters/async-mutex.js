/** The in-process peer: async-mutex. */
import { load } from '../load.js'

/** @typedef {{ acquire(): Promise<() => void> }} Mutex */

/** @type {import('../adapter.ts').Adapter} */
export const asyncMutex = {
  name: 'async-mutex',
  store: 'memory',
  role: 'peer',
  packages: ['async-mutex'],
  renews: false,
  async open() {
    /** @type {{ Mutex: new () => Mutex }} */
    const { Mutex } = await load('async-mutex')
    /** @type {Map<string, Mutex>} */
    const mutexes = new Map()
    return {
      lock(key) {
        const mutex = mutexes.get(key) ?? new Mutex()
        mutexes.set(key, mutex)
        return { acquire: () => mutex.acquire(), release: (token) => /** @type {() => undefined} */ (token)() }
      },
      close() {},
    }
  },
}
