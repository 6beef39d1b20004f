import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'sentinel',
  server: 'redis',
  nemeses: ['pause-holder', 'lag', 'failover', 'partition', 'clock-back'],
})
