import { conform } from '../../conform.ts'

await conform('memory', {
  module: new URL('../../../src/stores/memory/index.ts', import.meta.url),
  config: { name: 'conformance' },
})
