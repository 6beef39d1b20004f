import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'cluster',
  server: 'redis',
  nemeses: ['break', 'kill-holder', 'failover', 'partition-reset', 'unplug', 'latency'],
})
