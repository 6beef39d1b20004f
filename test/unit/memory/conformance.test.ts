import { conform } from '../../conform.ts'

conform('memory', {
  module: new URL('../../../src/drivers/memory/index.ts', import.meta.url),
  config: { name: 'conformance' },
})
