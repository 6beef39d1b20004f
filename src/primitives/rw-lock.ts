/** Many readers or one writer. Nobody overtakes: readers that come after a waiting writer wait behind it. */
import type { Core } from '../core/core.ts'
import { LineLock, type Lock } from '../core/lock.ts'
import type { LockSettings } from '../core/options.ts'
import { makeSpec } from '../core/spec.ts'

/** A reader weighs 1 and a writer all of it: a million readers at once, or one writer. */
const ALL = 1_000_000

export interface RwLock {
  readonly read: Lock
  readonly write: Lock
}

export function rwLock(core: Core, name: string, settings: LockSettings): RwLock {
  const lock = (mode: 'exclusive' | 'shared', weight: number): Lock =>
    new LineLock(core, makeSpec(core.runtime, { name, mode, weight, capacity: ALL }, settings))
  return { read: lock('shared', 1), write: lock('exclusive', ALL) }
}
