import { join } from 'node:path'
import { conform } from '../../conform.ts'
import { testFolder } from './folder.ts'

conform('sqlite', {
  module: new URL('../../../src/drivers/sqlite/index.ts', import.meta.url),
  config: { path: join(testFolder(), 'conformance.db') },
})
