/** Finds the program of the heartbeat worker, even from a bundle. */
import { pathToFileURL } from 'node:url'
import { UsageError } from '../contract/errors.ts'
import { programBeside } from '../program.ts'
import { findModule } from '../stores/shared/peer.ts'

export function workerProgram(): URL {
  const here = import.meta.url
  if (here.endsWith('/worker/program.ts')) return new URL('../../build/src/worker/worker.js', here)
  if (here.endsWith('/worker/program.js')) return programBeside(here, 'worker')
  // In the published package: find it by the package's name, because a thread needs a file, and a bundle is one file.
  const found = findModule('holdfast/worker')
  if (found !== null) return pathToFileURL(found)
  throw new UsageError(
    "heartbeat 'worker' starts a file of the package holdfast: keep holdfast out of the bundle (external) and " +
      'installed beside it',
  )
}
