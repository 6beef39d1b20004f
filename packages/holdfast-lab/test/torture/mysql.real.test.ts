import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'mysql',
  server: 'mariadb',
  nemeses: ['break', 'kill-holder', 'terminate-session', 'pause-server', 'clock-back', 'partition-reset'],
})
