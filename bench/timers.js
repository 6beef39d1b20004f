/** Counts the timers that are alive in this process, by standing in front of the global functions that make them. */

let count = 0

/** Those set since `countTimers`, neither fired nor cleared. */
export function liveTimers() {
  return count
}

export function countTimers() {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis
  /** @type {WeakSet<object>} */
  const live = new WeakSet()
  /** @param {any} timer */
  const end = (timer) => {
    if (typeof timer === 'object' && timer !== null && live.delete(timer)) count--
  }
  /** @param {any} timer */
  const begin = (timer) => {
    live.add(timer)
    count++
    return timer
  }
  /** @param {(...args: any[]) => void} fn @param {number} ms @param {any[]} args */
  const countedTimeout = (fn, ms, ...args) => {
    const timer = begin(
      setTimeout(() => {
        end(timer)
        fn(...args)
      }, ms),
    )
    return timer
  }
  /** @param {(...args: any[]) => void} fn @param {number} ms @param {any[]} args */
  const countedInterval = (fn, ms, ...args) => begin(setInterval(fn, ms, ...args))
  Object.assign(globalThis, {
    setTimeout: Object.assign(countedTimeout, setTimeout),
    setInterval: countedInterval,
    clearTimeout: (/** @type {any} */ timer) => {
      end(timer)
      clearTimeout(timer)
    },
    clearInterval: (/** @type {any} */ timer) => {
      end(timer)
      clearInterval(timer)
    },
  })
}
