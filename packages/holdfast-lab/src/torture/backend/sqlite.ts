/** SQLite needs no server: a file in a folder of our own. */
import { join } from 'node:path'
import { mkdir } from 'node:fs/promises'
import { mountDisk, unmountDisk } from '../../testbed/disk.ts'
import { Janitor } from '../../testbed/janitor.ts'
import { temporaryFolder } from '../folder.ts'
import { DISK_MB, fileDiskFull } from './disk-full.ts'
import { diskProblem } from './hardships.ts'
import type { Backend } from './backend.ts'

const NO_SERVER = 'SQLite has no server'
const NO_NETWORK = 'SQLite has no network'

export async function sqliteBackend(): Promise<Backend> {
  const home = await makeHome()
  const url = `sqlite:${join(home.path, 'locks.db')}`
  return {
    versions: `node ${process.versions.node}`,
    url,
    failoverMs: 0,
    ttlMs: 1_000,
    deeds: home.noDisk === null ? { 'disk-full': fileDiskFull(home.path) } : {},
    lacks: {
      ...(home.noDisk === null ? {} : { 'disk-full': home.noDisk }),
      'slow-disk': 'its clients write to the file by themselves, and wait for no disk',
      'oom-kill': NO_SERVER,
      crowd: NO_SERVER,
      'upgrade-server': NO_SERVER,
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
      'clock-hour': 'it goes by the monotonic clock; see client-clock',
      'clock-back': 'it goes by the monotonic clock',
      flush: NO_SERVER,
      'terminate-session': NO_SERVER,
    },
    gate: () => Promise.resolve({ url, proxies: [], cable: null }),
    close: home.remove,
  }
}

interface Home {
  readonly path: string
  /** Why the file is not on a small disk of its own; null: it is. */
  readonly noDisk: string | null
  remove(): Promise<void>
}

async function makeHome(): Promise<Home> {
  const noDisk = await diskProblem()
  if (noDisk !== null) {
    const { path, remove } = temporaryFolder('torture')
    return { path, noDisk, remove: () => Promise.resolve(remove()) }
  }
  // The guardian of the testbed takes the disk away, whichever way this process ends.
  const janitor = await Janitor.open()
  const path = join(janitor.dir, 'disk')
  await mkdir(path)
  await mountDisk(path, DISK_MB)
  return {
    path,
    noDisk,
    async remove() {
      await unmountDisk(path)
      await janitor.close()
    },
  }
}
