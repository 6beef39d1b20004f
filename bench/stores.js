/** What the bench must know of a store: its address, who can share it, and which adapters it is compared with. */

/** @typedef {import('./scenario.ts').Store} Store */

/** @type {Record<string, Omit<Store, 'scheme'>>} */
const KNOWN = {
  memory: {
    url: 'memory:bench',
    scope: 'process',
    bases: ['async-mutex', 'promise-chain', 'rate-limiter-flexible', 'flake-idgen'],
    heldLocks: 100_000,
  },
  sqlite: { url: 'sqlite:{folder}/bench.db', scope: 'host', bases: ['raw-sqlite'], heldLocks: 10_000 },
  redis: {
    url: 'redis://127.0.0.1:6379',
    scope: 'network',
    bases: ['raw-ioredis', 'raw-push', 'rate-limiter-flexible-redis'],
    heldLocks: 10_000,
    heldTtlMs: 5_000,
  },
  redlock: {
    url: 'redlock://127.0.0.1:6379,127.0.0.1:6380,127.0.0.1:6381',
    scope: 'network',
    bases: ['raw-redlock'],
    heldLocks: 10_000,
  },
  postgres: {
    url: 'postgres://postgres@127.0.0.1:5432/postgres',
    scope: 'network',
    bases: ['raw-postgres'],
    heldLocks: 10_000,
  },
  mysql: { url: 'mysql://root@127.0.0.1:3306/test', scope: 'network', bases: ['raw-mysql'], heldLocks: 10_000 },
  etcd: { url: 'etcd://127.0.0.1:2379', scope: 'network', bases: ['raw-etcd'], heldLocks: 10_000 },
  zookeeper: { url: 'zookeeper://127.0.0.1:2181', scope: 'network', bases: ['raw-zookeeper'], heldLocks: 10_000 },
}

/**
 * @param {string} text a scheme such as `memory`, or a store's URL
 * @returns {Store}
 */
export function storeOf(text) {
  const colon = text.indexOf(':')
  const scheme = colon === -1 ? text : text.slice(0, colon)
  const known = KNOWN[scheme]
  if (known === undefined && colon === -1) {
    throw new Error(`--store ${text}: give one of ${Object.keys(KNOWN).join(', ')}, or a store's URL`)
  }
  const { url, ...rest } = known ?? { url: text, scope: 'network', bases: [`raw-${scheme}`], heldLocks: 10_000 }
  return { scheme, url: colon === -1 ? url : text, ...rest }
}
