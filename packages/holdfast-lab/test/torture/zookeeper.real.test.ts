import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'zookeeper',
  server: 'zookeeper',
  nemeses: ['pause-holder', 'failover', 'unplug', 'clock-forward'],
})
