/**
 * The peer between processes of one host: proper-lockfile, a folder per lock. It polls; 10 to 50 ms, as in the
 * baselines.
 */
import { join } from 'node:path'
import { load } from '../load.js'

const FOREVER = { forever: true, minTimeout: 10, maxTimeout: 50, factor: 1.2, randomize: true }

/** @typedef {(file: string, options: object) => Promise<() => Promise<void>>} LockFile */

/** @type {import('../adapter.ts').Adapter} */
export const properLockfile = {
  name: 'proper-lockfile',
  store: 'sqlite',
  role: 'peer',
  packages: ['proper-lockfile'],
  async open({ folder, ttlMs }) {
    /** @type {{ default: { lock: LockFile } }} */
    const { default: library } = await load('proper-lockfile')
    return {
      lock(key) {
        const file = join(folder, encodeURIComponent(key))
        // The package refuses a stale time under 2 s, and checks at most once a second.
        const options = { realpath: false, stale: Math.max(2_000, ttlMs), retries: FOREVER }
        return {
          acquire: () => library.lock(file, options),
          release: (token) => /** @type {() => Promise<void>} */ (token)(),
        }
      },
      close() {},
    }
  },
}
