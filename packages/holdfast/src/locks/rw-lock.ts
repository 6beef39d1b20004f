/**
 * A read-write lock: many readers or one writer. Nobody overtakes: a reader that comes after a waiting writer waits
 * behind that writer.
 */
import type { Core } from '../acquire/core.ts'
import { LineLock, type Lock } from '../acquire/lock.ts'
import type { LockSettings } from '../contract/options.ts'
import { CAPACITY_MAX, makeSpec } from '../acquire/spec.ts'
import { LineUpgradeLock, type UpgradeLock } from './upgrade.ts'

/** Many may read at once, or one may write. */
export interface RwLock {
  /** Shared with other readers. */
  readonly read: Lock
  /** Held alone. */
  readonly write: Lock
  /** Reads beside other readers, and can become a write lock without a release. Only one can be held at a time. */
  readonly upgrade: UpgradeLock
}

export function rwLock(core: Core, name: string, settings: LockSettings): RwLock {
  const lock = (mode: 'exclusive' | 'shared', weight: number): Lock =>
    new LineLock(core, makeSpec(core, { name, mode, weight, capacity: CAPACITY_MAX }, settings))
  return {
    read: lock('shared', 1),
    write: lock('exclusive', CAPACITY_MAX),
    get upgrade() {
      return new LineUpgradeLock(core, name, CAPACITY_MAX, settings)
    },
  }
}
