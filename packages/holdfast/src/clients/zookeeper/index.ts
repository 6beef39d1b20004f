/** The ZooKeeper client's public names. It needs nothing but node:net and node:tls. */
export { type Acl, creatorAllAcl, digestAcl, openAcl, Perm } from './acl.ts'
export { type ReadOptions, type RequestOptions, ZooKeeperClient } from './client.ts'
export {
  isZooKeeperError,
  type UnansweredKind,
  ZooKeeperError,
  type ZooKeeperErrorKind,
  ZooKeeperUnreachableError,
} from './errors.ts'
export type { MultiOp, MultiResult } from './multi.ts'
export type { Identity, ZooKeeperClientOptions } from './options.ts'
export type { Heartbeat } from './proof.ts'
export type { CreateMode, CreateOptions } from './requests.ts'
export type { SessionView } from './session.ts'
export type { Stat } from './stat.ts'
export type { ClientState, StateListener } from './states.ts'
export type { WatchCallback, WatchEvent, WatchEventType } from './watches.ts'
