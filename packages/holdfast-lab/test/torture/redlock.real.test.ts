import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'redlock',
  server: 'redis',
  nemeses: ['break', 'pause-holder', 'restart-empty', 'unplug', 'clock-forward', 'replace-server', 'resize'],
})
