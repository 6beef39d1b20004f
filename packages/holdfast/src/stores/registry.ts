/** Every store that can be opened by a URL, one line each. Only their open.ts are loaded here, never a store itself. */
import { store as etcd } from './etcd/open.ts'
import { store as memory } from './memory/open.ts'
import { store as mysql } from './mysql/open.ts'
import { store as postgres } from './postgres/open.ts'
import { sentinel, store as redis } from './redis/open.ts'
import { store as redlock } from './redlock/open.ts'
import type { StoreOpener } from './shared/opener.ts'
import { store as sqlite } from './sqlite/open.ts'
import { store as zookeeper } from './zookeeper/open.ts'

export const STORES: readonly StoreOpener[] = [
  memory,
  sqlite,
  redis,
  sentinel,
  redlock,
  etcd,
  zookeeper,
  postgres,
  mysql,
]
