/** The laws on one ZooKeeper server. */
import { afterAll, beforeAll } from 'vitest'
import { conform } from '../../conform.ts'
import { Rig } from './rig.ts'

const config = { servers: [] as string[] }
let rig: Rig

beforeAll(async () => {
  rig = await Rig.open(1)
  config.servers.push(...rig.addresses)
})

afterAll(() => rig?.[Symbol.asyncDispose]())

await conform('zookeeper', {
  module: new URL('../../../build/src/stores/zookeeper/index.js', import.meta.url),
  config,
})
