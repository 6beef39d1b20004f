/** A store that is given as a driver: whether it is one, and which options are not for it. */
import type { Driver } from './contract/driver.ts'
import { UsageError } from './contract/errors.ts'
import type { HoldfastOptions } from './contract/options.ts'
import { seen } from './stores/shared/seen.ts'

export function isDriver(store: unknown): store is Driver {
  return typeof store === 'object' && store !== null && 'enter' in store && 'traits' in store
}

export function checkDriver(driver: Driver, options: HoldfastOptions): Driver {
  if (!isDriver(driver)) {
    throw new UsageError(
      `holdfast/core needs a driver, such as ioredis(client) of holdfast/ioredis; given ${seen(driver)}. ` +
        'URLs and clients as they are work with holdfast',
    )
  }
  checkForDriver(options)
  return driver
}

/** What only an opener of URLs could do. */
export function checkForDriver({ heartbeat, prefix }: HoldfastOptions): void {
  if (heartbeat === 'worker') {
    throw new UsageError("heartbeat 'worker' needs a store given by URL: a worker can't use a client of this thread")
  }
  if (prefix !== undefined) {
    throw new UsageError("prefix is the driver's own option: give it to the driver, or give the store by URL")
  }
}
