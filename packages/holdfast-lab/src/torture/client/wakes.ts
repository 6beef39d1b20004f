/** Counts how often a store wakes its waiters: wraps every watch of the driver under Holdfast. */
import type { Driver } from 'holdfast'

/** Called for every wake-up of a place. A watch on a whole line is not counted, because it is not a waiter. */
export function hearWakes(driver: Driver, onWoken: (line: string) => void): Driver {
  const watch = driver.watch.bind(driver)
  driver.watch = (line, id, wake) =>
    watch(line, id, (push) => {
      if (id !== null) onWoken(line)
      wake(push)
    })
  return driver
}
