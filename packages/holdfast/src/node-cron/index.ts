/**
 * `holdfast/node-cron`: a `RunCoordinator` for node-cron 4: of all processes with the same task, one runs each slot.
 */
import { checkKeys, checkText } from '../contract/check.ts'
import type { Held } from '../hold/held.ts'
import type { Holdfast } from '../holdfast.ts'

/** What node-cron calls, for tasks with `distributed: true`. */
export interface RunCoordinator {
  /** Whether this process runs the slot that the key names. */
  shouldRun(key: string, ttlMs: number): Promise<boolean>
  /** Called by node-cron when the task has ended. */
  onComplete(key: string): Promise<void>
}

/** How runs of the tasks are told apart. */
export interface RunCoordinatorOptions {
  /** What the names of its locks begin with. Default 'node-cron/'; to 100 bytes. */
  readonly prefix?: string
  /**
   * How far the clocks of two hosts may be apart: for so long after its beginning a slot stays taken, also when its
   * work has ended. Default 60 000.
   */
  readonly clockSkewMs?: number
}

const CLOCK_SKEW_MS = 60_000

/**
 * Give it to `setRunCoordinator`, or to a task as `runCoordinator`. The lock is renewed while the work runs; a store
 * that can't be asked is an error, and node-cron then skips the slot.
 */
export function runCoordinator(hf: Holdfast, options?: RunCoordinatorOptions): RunCoordinator {
  const given = checkKeys('runCoordinator options', options, ['prefix', 'clockSkewMs']) as RunCoordinatorOptions
  const prefix = checkText('prefix', given.prefix ?? 'node-cron/', 100)
  const minHoldMs = given.clockSkewMs ?? CLOCK_SKEW_MS
  const running = new Map<string, Held>()
  return {
    async shouldRun(key, ttlMs) {
      const lease = Math.max(ttlMs, hf.traits.ttlMsMin)
      const held = await hf.mutex(`${prefix}${key}`, { ttlMs: lease, minHoldMs, reentrant: false }).tryAcquire()
      if (held !== null) running.set(key, held)
      return held !== null
    },
    async onComplete(key) {
      const held = running.get(key)
      running.delete(key)
      await held?.release()
    },
  }
}
