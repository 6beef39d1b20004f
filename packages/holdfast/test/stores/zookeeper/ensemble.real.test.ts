/** The laws on an ensemble of three, with clients on whichever server they find. */
import { afterAll, beforeAll } from 'vitest'
import { conform } from '../../conform.ts'
import { Rig } from './rig.ts'

const config = { servers: [] as string[] }
let rig: Rig

beforeAll(async () => {
  rig = await Rig.open(3)
  config.servers.push(...rig.addresses)
})

afterAll(() => rig?.[Symbol.asyncDispose]())

await conform('zookeeper ensemble', {
  module: new URL('../../../build/src/stores/zookeeper/index.js', import.meta.url),
  config,
})
