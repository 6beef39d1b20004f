/** The real Runtime: this process, this machine. */
import { randomFillSync } from 'node:crypto'
import { hostname } from 'node:os'
import type { Runtime } from './core/runtime.ts'

// Random bits are drawn 256 ids at a time: one id then costs a slice, not a call into the kernel's generator.
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

/** setTimeout fires at once for anything larger; core asks again when a timer fires early. */
const TIMER_MS_MAX = 2_147_483_647

export const system: Runtime = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  after(ms, fn, keepAlive) {
    const timer = setTimeout(fn, Math.min(Math.max(0, Math.ceil(ms)), TIMER_MS_MAX))
    if (!keepAlive) timer.unref()
    return () => clearTimeout(timer)
  },
  randomId,
  random: () => Math.random(),
  host: hostname(),
  pid: process.pid,
}
