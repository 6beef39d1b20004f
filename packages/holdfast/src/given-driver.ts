/** Checks a store that the caller gave as a driver: is it a driver, and do the options apply to a driver? */
import type { Driver } from './contract/driver.ts'
import { UsageError } from './contract/errors.ts'
import type { HoldfastOptions } from './contract/options.ts'
import { shapeOf } from './stores/shared/shape.ts'

export function isDriver(store: unknown): store is Driver {
  return typeof store === 'object' && store !== null && 'enter' in store && 'traits' in store
}

export function checkDriver(driver: Driver, options: HoldfastOptions): Driver {
  if (!isDriver(driver)) {
    throw new UsageError(
      `holdfast/core needs a driver, such as ioredis(client) of holdfast/ioredis; given ${shapeOf(driver)}. ` +
        'Pass URLs and clients to holdfast() of the entry holdfast',
    )
  }
  checkForDriver(options)
  return driver
}

/** Refuses the options that only apply to a store opened by URL. */
export function checkForDriver({ heartbeat, prefix }: HoldfastOptions): void {
  if (heartbeat === 'worker') {
    throw new UsageError("heartbeat 'worker' needs a store given by URL: a worker can't use a client of this thread")
  }
  if (prefix !== undefined) {
    throw new UsageError("prefix is the driver's own option: give it to the driver, or give the store by URL")
  }
}
