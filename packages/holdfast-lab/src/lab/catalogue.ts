/** All exhibits, in the order in which they are listed. */
import type { Exhibit } from './exhibit.ts'
import { failover } from '../exhibits/failover.ts'
import { flashSale } from '../exhibits/flash-sale.ts'
import { getset } from '../exhibits/getset.ts'
import { getThenDel } from '../exhibits/get-then-del.ts'
import { herdEtcd } from '../exhibits/herd-etcd.ts'
import { herdRedis } from '../exhibits/herd-redis.ts'
import { herdZookeeper } from '../exhibits/herd-zookeeper.ts'
import { lockTable } from '../exhibits/lock-table.ts'
import { longJob } from '../exhibits/long-job.ts'
import { losersRefresh } from '../exhibits/losers-refresh.ts'
import { minorityEtcd } from '../exhibits/minority-etcd.ts'
import { minorityZookeeper } from '../exhibits/minority-zookeeper.ts'
import { redlockClock } from '../exhibits/redlock-clock.ts'
import { redlockPartition } from '../exhibits/redlock-partition.ts'
import { redlockRestart } from '../exhibits/redlock-restart.ts'
import { redlockSplitVotes } from '../exhibits/redlock-split-votes.ts'
import { setnxExpire } from '../exhibits/setnx-expire.ts'
import { splitBrain } from '../exhibits/split-brain.ts'
import { stock } from '../exhibits/stock.ts'
import { version } from '../exhibits/version.ts'

export const EXHIBITS: readonly Exhibit[] = [
  setnxExpire,
  losersRefresh,
  getThenDel,
  flashSale,
  stock,
  getset,
  failover,
  splitBrain,
  minorityEtcd,
  minorityZookeeper,
  redlockClock,
  redlockRestart,
  redlockSplitVotes,
  redlockPartition,
  lockTable,
  version,
  herdRedis,
  herdZookeeper,
  herdEtcd,
  longJob,
]
