/** One holder at a time. */
import type { Core } from '../core/core.ts'
import { LineLock, type Lock } from '../core/lock.ts'
import type { LockSettings } from '../core/options.ts'
import { makeSpec } from '../core/spec.ts'

export function mutex(core: Core, name: string, settings: LockSettings): Lock {
  return new LineLock(core, makeSpec(core.runtime, { name, mode: 'exclusive', weight: 1, capacity: 1 }, settings))
}
