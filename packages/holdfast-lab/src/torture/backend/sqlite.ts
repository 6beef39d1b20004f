/** SQLite needs no server: a file in a folder of our own. */
import { join } from 'node:path'
import { temporaryFolder } from '../folder.ts'
import type { Backend } from './backend.ts'

const NO_SERVER = 'SQLite has no server'
const NO_NETWORK = 'SQLite has no network'

export function sqliteBackend(): Backend {
  const folder = temporaryFolder('torture')
  const url = `sqlite:${join(folder.path, 'locks.db')}`
  return {
    versions: `node ${process.versions.node}`,
    url,
    failoverMs: 0,
    ttlMs: 1_000,
    deeds: {},
    lacks: {
      partition: NO_NETWORK,
      'partition-reset': NO_NETWORK,
      'partition-one-way': NO_NETWORK,
      latency: NO_NETWORK,
      unplug: NO_NETWORK,
      'pause-server': NO_SERVER,
      'kill-server': NO_SERVER,
      'restart-empty': NO_SERVER,
      'restart-truncated': NO_SERVER,
      failover: NO_SERVER,
      'stop-leader': NO_SERVER,
      lag: NO_SERVER,
      'clock-forward': 'it goes by the monotonic clock',
      'clock-back': 'it goes by the monotonic clock',
      flush: NO_SERVER,
      'terminate-session': NO_SERVER,
    },
    gate: () => Promise.resolve({ url, proxies: [], cable: null }),
    close: () => Promise.resolve(folder.remove()),
  }
}
