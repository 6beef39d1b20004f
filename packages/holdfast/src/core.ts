/**
 * `holdfast/core`: locks over a driver that you give. It contains no store and no kit (limiter, ids, once …), so a
 * bundle with `holdfast/core` and `holdfast/ioredis` is a third of the size of one with `holdfast`.
 */
import type { Driver } from './contract/driver.ts'
import { UsageError } from './contract/errors.ts'
import type { HoldfastOptions } from './contract/options.ts'
import { checkDriver } from './given-driver.ts'
import { Instance, type Locks } from './instance.ts'

export * from './contract/errors.ts'
export type { Lock } from './acquire/lock.ts'
export type * from './contract/driver.ts'
export type { AcquireOptions, HoldfastOptions, LockOptions } from './contract/options.ts'
export type { Held, HoldState } from './hold/held.ts'
export type { Locks } from './instance.ts'
export type { Deadlock, DeadlockParty } from './locks/deadlocks.ts'
export type { Election, ElectionOptions, Leader } from './locks/election.ts'
export type { MultiHeld, MultiLock } from './locks/multi.ts'
export type { RwLock } from './locks/rw-lock.ts'
export type { Permits, Semaphore } from './locks/semaphore.ts'
export type { UpgradeHeld, UpgradeLock } from './locks/upgrade.ts'

/**
 * Makes the locks on a store.
 * @param driver what the factory of a subpath returns, such as `ioredis(client)` of `holdfast/ioredis`.
 */
export function holdfast(driver: Driver, options: HoldfastOptions = {}): Locks {
  for (const kit of ['history', 'report'] as const) {
    if (options[kit]) throw new UsageError(`holdfast/core has no ${kit}: import holdfast from 'holdfast' for it`)
  }
  return new Instance(checkDriver(driver, options), options)
}
