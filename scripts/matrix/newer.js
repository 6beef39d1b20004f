/** Newer versions of what this machine has: servers that can be started on the data of the installed ones. */
import { writeFile } from 'node:fs/promises'
import { SERVERS } from './servers.js'

/**
 * @typedef {import('../../packages/holdfast-lab/src/testbed/given.ts').GivenServers} GivenServers
 * @typedef {import('./cache.js').Cache} Cache
 */

/** Stores whose server takes over the data folder of an older one, and the kind of that server. */
const KINDS = /** @type {const} */ ({ redis: 'redis', etcd: 'etcd', mysql: 'mariadb' })

/**
 * Of each kind the first newer server of the matrix whose name contains `only`.
 *
 * @param {Cache} cache
 * @param {{ readonly stores?: readonly string[], readonly only?: string }} [wanted] default: all
 * @returns {Promise<GivenServers>}
 */
export async function newerServers(cache, { stores = Object.keys(KINDS), only = '' } = {}) {
  /** @type {Record<string, import('../../packages/holdfast-lab/src/testbed/given.ts').GivenServer>} */
  const newer = {}
  for (const [store, kind] of Object.entries(KINDS)) {
    if (!stores.includes(store)) continue
    for (const entry of SERVERS) {
      // MySQL is another make: it does not read what MariaDB wrote.
      const suits = entry.store === store && entry.server !== 'MySQL' && entry.server.includes(only)
      const given = suits && newer[kind] === undefined ? await entry.get(cache) : null
      if (given !== null) newer[kind] = given
    }
  }
  return newer
}

/** As `holdfast torture --upgrade FILE` reads it. @param {string} file @param {GivenServers} servers */
export function giveServers(file, servers) {
  return writeFile(file, `${JSON.stringify(servers, null, 2)}\n`)
}
