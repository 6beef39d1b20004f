import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'etcd',
  server: 'etcd',
  nemeses: ['pause-holder', 'failover', 'partition-one-way', 'unplug'],
})
