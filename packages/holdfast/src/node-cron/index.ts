/** `holdfast/node-cron`: a `RunCoordinator` for node-cron 4. Of all processes that have a task, one runs each slot. */
import { checkKeys, checkText } from '../contract/check.ts'
import type { Held } from '../hold/held.ts'
import type { Holdfast } from '../holdfast.ts'

/** What node-cron calls for tasks with `distributed: true`. */
export interface RunCoordinator {
  /** Whether this process runs the slot that the key names. */
  shouldRun(key: string, ttlMs: number): Promise<boolean>
  /** node-cron calls this when the task has ended. */
  onComplete(key: string): Promise<void>
}

/** Options of `runCoordinator`. */
export interface RunCoordinatorOptions {
  /** The beginning of the names of its locks. Default 'node-cron/'; at most 100 bytes. */
  readonly prefix?: string
  /**
   * How far the clocks of two hosts may differ. A slot stays taken for so long after it began, even if its work ends
   * sooner. Default 60 000.
   */
  readonly clockSkewMs?: number
}

const CLOCK_SKEW_MS = 60_000

/**
 * Give the result to `setRunCoordinator`, or to a task as `runCoordinator`. The lock is renewed while the work runs. If
 * the store does not answer, `shouldRun` rejects, and node-cron skips the slot.
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
