/** A temporary folder that is removed when its process ends, unless by SIGKILL. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Folder {
  readonly path: string
  remove(): void
}

export function temporaryFolder(name: string): Folder {
  const path = mkdtempSync(join(tmpdir(), `holdfast-${name}-`))
  const remove = (): void => {
    process.off('exit', remove)
    rmSync(path, { recursive: true, force: true })
  }
  process.on('exit', remove)
  return { path, remove }
}
