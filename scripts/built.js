/** Whether the build is of the sources as they are now: a stale build is never tested. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Not in dist, because dist is published. */
const STAMP = join(ROOT, 'packages/holdfast/build/sources.sha256')
export const FOLDERS = [
  'packages/holdfast-console/page',
  'packages/holdfast-console/src',
  'packages/holdfast-lab/src',
  'packages/holdfast-nest/src',
  'packages/holdfast/conformance',
  'packages/holdfast/src',
]
const FILES = ['tsconfig.json', 'scripts/entries.json', 'scripts/bundle.js', 'scripts/embed.js', 'scripts/rehearse.js']

/** Call it after a build. */
export function stampBuild() {
  writeFileSync(STAMP, hashOfSources())
}

export function isBuilt() {
  return existsSync(STAMP) && readFileSync(STAMP, 'utf8') === hashOfSources()
}

function hashOfSources() {
  const inside = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !entry.name.includes('.generated.'))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  const hash = createHash('sha256')
  for (const file of [...FILES.map((name) => join(ROOT, name)), ...inside.toSorted()]) {
    hash.update(file.slice(ROOT.length)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}
