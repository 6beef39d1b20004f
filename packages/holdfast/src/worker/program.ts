/** Finds the program of the heartbeat worker, also from a bundle. */
import { pathToFileURL } from 'node:url'
import { UsageError } from '../contract/errors.ts'
import { programBeside } from '../program.ts'
import { findModule } from '../stores/shared/peer.ts'

export function workerProgram(): URL {
  const here = import.meta.url
  if (here.endsWith('/worker/program.ts')) return new URL('../../build/src/worker/worker.js', here)
  if (here.endsWith('/worker/program.js')) return programBeside(here, 'worker')
  // As published, by the package's own name: a thread needs a file, and a bundle has only itself.
  const found = findModule('holdfast/worker')
  if (found !== null) return pathToFileURL(found)
  throw new UsageError(
    "heartbeat 'worker' starts a file of the package holdfast: keep holdfast out of the bundle (external) and " +
      'installed beside it',
  )
}
