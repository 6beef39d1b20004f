import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'zookeeper',
  server: 'zookeeper',
  nemeses: ['break', 'pause-holder', 'failover', 'stop-leader', 'unplug', 'clock-forward'],
})
