import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'etcd',
  server: 'etcd',
  nemeses: ['break', 'pause-holder', 'failover', 'stop-leader', 'partition-one-way', 'unplug'],
})
