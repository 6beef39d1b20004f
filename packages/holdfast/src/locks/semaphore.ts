/** A semaphore: up to n permits at a time, of which one caller may take several. Permits never re-enter. */
import { checkKeys, checkWhole } from '../contract/check.ts'
import type { Core } from '../acquire/core.ts'
import { UnsupportedError } from '../contract/errors.ts'
import type { Held } from '../hold/held.ts'
import { LineLock, type LineOptions, type Lock } from '../acquire/lock.ts'
import type { AcquireOptions, LockSettings } from '../contract/options.ts'
import { CAPACITY_MAX, makeSpec, otherwise, type Spec } from '../acquire/spec.ts'

/** Options of one acquisition of a semaphore. */
export interface Permits {
  /** How many permits to take. Default 1; 1 to the semaphore's capacity. */
  readonly permits?: number
}

/** A lock that several may hold at once. */
export interface Semaphore extends Lock {
  acquire(options?: AcquireOptions & Permits): Promise<Held>
  tryAcquire(options?: Pick<AcquireOptions, 'owner' | 'signal'> & Permits): Promise<Held | null>
  using<T>(fn: (held: Held) => T | PromiseLike<T>, options?: AcquireOptions & Permits): Promise<T>
}

class PermitLock extends LineLock {
  protected override specOf(options: LineOptions): { spec: Spec; extra: readonly string[] } {
    const extra = ['permits']
    const { permits } = checkKeys('acquire options', options, ['waitMs', 'signal', 'owner', ...extra])
    if (permits === undefined) return { spec: this.spec, extra }
    return { spec: otherwise(this.spec, { weight: checkWhole('permits', permits, 1, this.spec.ask.capacity) }), extra }
  }
}

export function semaphore(core: Core, name: string, permits: number, settings: LockSettings): Semaphore {
  checkWhole('permits', permits, 1, CAPACITY_MAX)
  const { counting, safety } = core.driver.traits
  if (!counting) throw new UnsupportedError(`${core.driver.name} can't do semaphores: ${safety}`, { line: name })
  return new PermitLock(core, makeSpec(core, { name, mode: 'permits', weight: 1, capacity: permits }, settings))
}
