/** Which Holdfast this is. */
import { readFileSync } from 'node:fs'

/** Read from the package itself: dist and src/cli lie at different depths below it. */
export function version(): string {
  for (let folder = new URL('.', import.meta.url); folder.pathname !== '/'; folder = new URL('..', folder)) {
    const found = readVersion(new URL('package.json', folder))
    if (found !== null) return found
  }
  return 'unknown'
}

function readVersion(file: URL): string | null {
  try {
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string }
    return name === 'holdfast' && version !== undefined ? version : null
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}
