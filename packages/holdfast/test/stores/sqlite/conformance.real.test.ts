import { join } from 'node:path'
import { conform } from '../../conform.ts'
import { testFolder } from './folder.ts'

await conform('sqlite', {
  module: new URL('../../../build/src/stores/sqlite/index.js', import.meta.url),
  config: { path: join(testFolder(), 'conformance.db') },
})
