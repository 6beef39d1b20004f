/** Counts what a store wakes its waiters for: the driver under Holdfast, with an ear at every watch. */
import type { Driver } from 'holdfast'

/** Told of every wake-up of a place, as it comes; a watch on a whole line is nobody who waits. */
export function hearWakes(driver: Driver, onWoken: (line: string) => void): Driver {
  const watch = driver.watch.bind(driver)
  driver.watch = (line, id, wake) =>
    watch(line, id, (push) => {
      if (id !== null) onWoken(line)
      wake(push)
    })
  return driver
}
