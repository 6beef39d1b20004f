/**
 * What befalls the machine under a server: its disk is full or slow, its memory is gone, its clock is an hour wrong,
 * thousands connect, and another version takes its place. And what befalls a client: it is suspended for many leases.
 */
import { find } from '../../src/testbed/find.ts'
import { shortTorture } from './stores.ts'

// Another version has to be fetched. That a server is stopped, and its successor finds everything, needs none:
// docs/explain/evidence.md has the run from Redis 7.0 to 8.0.
const installed = await find('redis')

await shortTorture({
  store: 'redis',
  server: 'redis',
  nemeses: ['disk-full', 'slow-disk', 'oom-kill', 'crowd', 'clock-hour', 'client-clock', 'upgrade-server'],
  newer:
    installed === null
      ? {}
      : { redis: { version: installed.version, paths: { 'redis-server': installed.path('redis-server') } } },
})

await shortTorture({ store: 'redis', server: 'redis', nemeses: ['suspend-holder'] })

// The kernel kills one process of several, and a full log of commits ends them all.
await shortTorture({ store: 'postgres', server: 'postgres', nemeses: ['oom-kill', 'disk-full'] })

await shortTorture({ store: 'sqlite', server: null, nemeses: ['disk-full', 'client-clock'] })
