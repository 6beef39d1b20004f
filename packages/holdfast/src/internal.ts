/**
 * Only for Holdfast's own packages (holdfast-lab, holdfast-console): any release may change anything here. Re-exports
 * only.
 */
export { type Given, parseArgs, refuseBoth, type Syntax, usage } from './cli/args.ts'
export { type Command, type Commands, STORE_HELP } from './cli/command.ts'
export { dispatch } from './cli/dispatch.ts'
export { formatDuration, parseDuration } from './cli/duration.ts'
export { signalExit } from './cli/exit.ts'
export { nearest } from './cli/nearest.ts'
export { flag, optionsHelp, value } from './cli/option.ts'
export { complain, isStyled, print } from './cli/output.ts'
export { publicUrl, storeUrl } from './cli/store.ts'
export { printable, table, width } from './cli/table.ts'
export { EtcdClient } from './clients/etcd/index.ts'
export { Connection, parseRedisUrl, type Reply, type Script, script } from './clients/redis/index.ts'
export { isZooKeeperError, ZooKeeperClient } from './clients/zookeeper/index.ts'
export { checkWhole } from './contract/check.ts'
export { isGranted } from './contract/driver.ts'
export { findCircles, findEntangled } from './hold/circles.ts'
export { openDriver } from './open.ts'
export { revokesLate } from './stores/etcd/server-check.ts'
export { system } from './system.ts'
