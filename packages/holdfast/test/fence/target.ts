/** What a lock protects in these tests: a number behind a guard, read and written in the name of a hold. */
import type { Held } from '../../src/hold/held.ts'
import type { Driver } from '../../src/contract/driver.ts'
import type { Proof } from '../../src/fence/index.ts'

export const RESOURCE = 'stock:42'

export interface Target {
  /** Where the lock must be, if the guard needs it there. */
  readonly store?: Driver
  /** The guard alone, for any resource. */
  check(resource: string, held: Held | Proof): Promise<unknown>
  /** The number as it is, checked at the read. */
  read(held: Held): Promise<number>
  /** Checked again at the write. */
  write(held: Held, value: number): Promise<void>
  close(): Promise<void>
}

export type Kind = 'pg' | 'postgres.js' | 'mysql2' | 'libsql' | 'redis' | 'ioredis' | '@redis/client' | 'etcd' | 'http'

/** Each loads its own client only: a holder is a process, and starts with nothing else. */
const OPEN: Record<Kind, (url: string) => Promise<Target>> = {
  pg: async (url) => (await import('./sql-targets.ts')).pgTarget(url),
  'postgres.js': async (url) => (await import('./sql-targets.ts')).postgresJsTarget(url),
  mysql2: async (url) => (await import('./sql-targets.ts')).mysqlTarget(url),
  libsql: async (url) => (await import('./sql-targets.ts')).libsqlTarget(url),
  redis: async (url) => (await import('./redis-targets.ts')).ownTarget(url),
  ioredis: async (url) => (await import('./redis-targets.ts')).ioredisTarget(url),
  '@redis/client': async (url) => (await import('./redis-targets.ts')).nodeRedisTarget(url),
  etcd: async (url) => (await import('./etcd-target.ts')).etcdTarget(url),
  http: async (url) => (await import('./http-target.ts')).httpTarget(url),
}

export function openTarget(kind: Kind, url: string): Promise<Target> {
  return OPEN[kind](url)
}
