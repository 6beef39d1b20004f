/** Where the programs of other processes are. Run from source, they are found in dist: a client starts without a compiler in front of it. */
import { fileURLToPath } from 'node:url'

export function program(name: 'referee/main' | 'client/main' | 'client/holdfast-client' | 'mutants/client'): string {
  const isSource = import.meta.url.endsWith('.ts')
  return fileURLToPath(new URL(isSource ? `../../../dist/src/torture/${name}.js` : `../${name}.js`, import.meta.url))
}
