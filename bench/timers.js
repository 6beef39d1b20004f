/** Counts the timers that are alive in this process, by standing in front of the global functions that make them. */

/** @typedef {(...args: unknown[]) => void} Callback */

/** @type {WeakSet<NodeJS.Timeout>} */
const alive = new WeakSet()
let count = 0

/** How many timers were set since `countTimers` and have neither fired nor been cleared. */
export function liveTimers() {
  return count
}

export function countTimers() {
  const { setTimeout, setInterval, clearTimeout, clearInterval } = globalThis
  Object.assign(globalThis, {
    /** @param {Callback} fn @param {number} ms @param {unknown[]} args */
    setTimeout(fn, ms, ...args) {
      const timer = setTimeout(() => {
        end(timer)
        fn(...args)
      }, ms)
      return begin(timer)
    },
    /** @param {Callback} fn @param {number} ms @param {unknown[]} args */
    setInterval: (fn, ms, ...args) => begin(setInterval(fn, ms, ...args)),
    /** @param {NodeJS.Timeout | undefined} timer */
    clearTimeout(timer) {
      end(timer)
      clearTimeout(timer)
    },
    /** @param {NodeJS.Timeout | undefined} timer */
    clearInterval(timer) {
      end(timer)
      clearInterval(timer)
    },
  })
}

/** @param {NodeJS.Timeout} timer */
function begin(timer) {
  alive.add(timer)
  count++
  return timer
}

/** @param {NodeJS.Timeout | undefined} timer */
function end(timer) {
  if (timer !== undefined && alive.delete(timer)) count--
}
