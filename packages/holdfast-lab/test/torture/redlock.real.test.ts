import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'redlock',
  server: 'redis',
  nemeses: ['pause-holder', 'restart-empty', 'unplug', 'clock-forward'],
})
