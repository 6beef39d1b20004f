/** What the pages of the documentation are compared with: the sources of the packages. */
import { readdir, readFile } from 'node:fs/promises'

export const ROOT: URL = new URL('../../', import.meta.url)

export interface Source {
  /** Below the package's `src/`. */
  readonly path: string
  readonly text: string
}

export async function sourcesOf(name: string): Promise<Source[]> {
  const folder = new URL(`packages/${name}/src/`, ROOT)
  const paths = (await readdir(folder, { recursive: true })).filter((path) => path.endsWith('.ts'))
  return Promise.all(paths.map(async (path) => ({ path, text: await readFile(new URL(path, folder), 'utf8') })))
}
