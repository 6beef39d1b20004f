import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'postgres',
  server: 'postgres',
  nemeses: ['pause-holder', 'terminate-session', 'kill-server', 'clock-forward', 'unplug'],
})
