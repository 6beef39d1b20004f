import { join } from 'node:path'
import { conform } from '../conform.ts'
import { testFolder } from '../stores/sqlite/folder.ts'

await conform('sqlite in a worker thread', {
  module: new URL('./remote.js', import.meta.url),
  config: `sqlite:${join(testFolder(), 'locks.db')}`,
})
