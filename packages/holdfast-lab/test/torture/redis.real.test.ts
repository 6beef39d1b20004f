import { shortTorture } from './stores.ts'

await shortTorture({
  store: 'redis',
  server: 'redis',
  nemeses: [
    'break',
    'pause-holder',
    'partition',
    'unplug',
    'latency',
    'kill-server',
    'restart-truncated',
    'restart-empty',
    'clock-back',
    'flush',
  ],
})
