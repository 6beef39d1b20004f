/**
 * Where a run keeps its files, and who clears up behind it: also when we are killed while a client of ours is stopped,
 * which can't see it.
 */
import { Janitor } from '../../testbed/janitor.ts'
import { processEntry } from '../../testbed/proc.ts'
import { temporaryFolder } from '../folder.ts'

export interface Household {
  readonly folder: string
  /** This process ends when we do, whichever way. */
  take(pid: number): Promise<void>
  close(): Promise<void>
}

export async function openHousehold(): Promise<Household> {
  // The guardian reads /proc. Elsewhere a kill of ours leaves behind what was stopped just then.
  if (process.platform !== 'linux') {
    const folder = temporaryFolder('history')
    return { folder: folder.path, take: () => Promise.resolve(), close: () => Promise.resolve(folder.remove()) }
  }
  const janitor = await Janitor.open()
  return {
    folder: janitor.dir,
    async take(pid) {
      const entry = processEntry(pid)
      if (entry !== null) await janitor.record(entry)
    },
    close: () => janitor.close(),
  }
}
