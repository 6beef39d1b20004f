/** A driver that counts the calls. It returns the very promises of the driver behind it. */
import { createHistogram } from 'node:perf_hooks'

/** @typedef {import('../packages/holdfast/src/contract/driver.ts').Driver} Driver */

/**
 * @param {Driver} driver
 * @returns {{ driver: Driver, calls: () => import('./adapter.ts').Calls }}
 */
export function counting(driver) {
  let enters = 0
  let leaves = 0
  let touches = 0
  let places = 0
  // Only the part of a call before it yields is timed: the part that keeps the event loop.
  const blocked = createHistogram()

  /**
   * @template T
   * @param {() => T} call
   * @returns {T}
   */
  function timed(call) {
    const started = performance.now()
    const answer = call()
    blocked.record(Math.max(1, Math.round((performance.now() - started) * 1e6)))
    return answer
  }

  return {
    driver: {
      name: driver.name,
      traits: driver.traits,
      enter(entry, wait) {
        enters++
        return timed(() => driver.enter(entry, wait))
      },
      touch(entries) {
        touches++
        places += entries.length
        return timed(() => driver.touch(entries))
      },
      leave(entry, afterMs) {
        leaves++
        return timed(() => driver.leave(entry, afterMs))
      },
      watch: (line, id, wake) => driver.watch(line, id, wake),
      list: (prefix) => driver.list(prefix),
      swap: (key, change) => driver.swap(key, change),
      break: (line, now) => driver.break(line, now),
      setup: async () => driver.setup?.(),
      close: () => driver.close(),
    },
    calls: () => ({
      total: enters + leaves + touches,
      touches,
      places,
      blockedMsP999: blocked.count > 0 ? blocked.percentile(99.9) / 1e6 : Number.NaN,
    }),
  }
}
