/** The newcomer's exercise of CONTRIBUTING.md: its store must go on passing the suite. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { conform } from '../../packages/holdfast/test/conform.ts'

await conform('a JSON file', {
  module: new URL('../../examples/json-store/index.ts', import.meta.url),
  config: { path: join(mkdtempSync(join(tmpdir(), 'holdfast-json-')), 'locks.json') },
})
