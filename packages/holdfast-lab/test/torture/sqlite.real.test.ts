import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'sqlite',
  server: null,
  nemeses: ['pause-holder', 'kill-holder', 'kill-client', 'pause-client', 'block-loop'],
})
