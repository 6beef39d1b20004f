import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'postgres',
  server: 'postgres',
  nemeses: ['break', 'pause-holder', 'terminate-session', 'kill-server', 'clock-forward', 'unplug'],
})
