/** A mutex: one holder at a time. */
import type { Core } from '../acquire/core.ts'
import { LineLock, type Lock } from '../acquire/lock.ts'
import type { LockSettings } from '../contract/options.ts'
import { makeSpec } from '../acquire/spec.ts'

export function mutex(core: Core, name: string, settings: LockSettings): Lock {
  return new LineLock(core, makeSpec(core, { name, mode: 'exclusive', weight: 1, capacity: 1 }, settings))
}
