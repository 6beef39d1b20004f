/** The real Runtime: the clocks, timers and randomness of this process. */
import { randomFillSync } from 'node:crypto'
import { hostname } from 'node:os'
import type { Cancel, Runtime } from './contract/runtime.ts'

// Random bits are drawn for 256 ids at a time, so one id costs a slice and not a call into the kernel's generator.
const ID_BYTES = 16
const pool = Buffer.allocUnsafeSlow(ID_BYTES * 256)
let drawn = pool.length

function randomId(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  const id = pool.toString('hex', drawn, drawn + ID_BYTES)
  drawn += ID_BYTES
  return id
}

/** The longest timer: setTimeout fires at once for anything longer. */
const TIMER_MS_MAX = 2_147_483_647

/** Splits a wait that is longer than a timer can be into parts, so 30 days are 30 days and not 24.8. */
function after(ms: number, fn: () => void, keepAlive: boolean): Cancel {
  const at = performance.now() + ms
  let timer: NodeJS.Timeout
  const arm = (leftMs: number): void => {
    timer = leftMs > TIMER_MS_MAX ? setTimeout(again, TIMER_MS_MAX) : setTimeout(fn, Math.max(0, Math.ceil(leftMs)))
    if (!keepAlive) timer.unref()
  }
  const again = (): void => arm(at - performance.now())
  arm(ms)
  return () => clearTimeout(timer)
}

export const system: Runtime = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  after,
  randomId,
  random: () => Math.random(),
  host: hostname(),
  pid: process.pid,
}
