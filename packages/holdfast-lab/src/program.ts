/** Finds the programs of other processes. Run from source, they are in dist: so a child starts without a compiler. */
import { fileURLToPath } from 'node:url'

export function program(
  name:
    | 'lab/actor/main'
    | 'torture/referee/main'
    | 'torture/client/main'
    | 'torture/client/holdfast-client'
    | 'torture/mutants/client',
): string {
  const isSource = import.meta.url.endsWith('.ts')
  return fileURLToPath(new URL(isSource ? `../dist/src/${name}.js` : `./${name}.js`, import.meta.url))
}
