/** Notes when the store has answered that a place has to wait: nobody who asks later may be served before it. */
import type { Driver } from 'holdfast'
import { isGranted } from 'holdfast/internal'

/** Called for every place that has to wait, when the answer has come. */
export function hearQueued(driver: Driver, onQueued: (line: string, exclusive: boolean) => void): Driver {
  const enter = driver.enter.bind(driver)
  driver.enter = async (entry, wait) => {
    const place = await enter(entry, wait)
    if (place !== null && !isGranted(entry, place)) onQueued(entry.line, entry.weight === entry.capacity)
    return place
  }
  return driver
}
