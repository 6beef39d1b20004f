/** Servers that Holdfast refuses, or the doctor warns of. The matrix does not run them; the doctor's tests do. */
import { join } from 'node:path'
import { Cache } from './cache.js'
import { fromDebian } from './debian.js'
import { askVersion, zookeeperIn } from './servers.js'

const SUITE = 'bullseye'
const PROGRAMS = ['usr/bin/redis-server', 'usr/bin/redis-cli']

/** By the names of the testbed. All are in one root, because listing the packages takes longest. */
export async function olderServers() {
  const packages = ['redis-server', 'libzookeeper-java', 'libslf4j-java']
  const root = await fromDebian(new Cache(), { suite: SUITE, packages, programs: PROGRAMS })
  const [server = '', cli = ''] = PROGRAMS.map((program) => join(root, program))
  const redis = { version: await askVersion(server), paths: { 'redis-server': server, 'redis-cli': cli } }
  return { redis, zookeeper: await zookeeperIn(root, ['slf4j-api', 'zookeeper']) }
}
