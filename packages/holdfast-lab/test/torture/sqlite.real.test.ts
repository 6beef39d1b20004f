import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'sqlite',
  server: null,
  nemeses: ['break', 'pause-holder', 'kill-holder', 'kill-client', 'pause-client', 'block-loop'],
})
