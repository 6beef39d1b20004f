import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'sentinel',
  server: 'redis',
  nemeses: ['break', 'pause-holder', 'lag', 'failover', 'partition', 'clock-back'],
})
