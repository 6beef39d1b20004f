/** The options of a rehearsal. */
import type { Holdfast } from 'holdfast'
import type { Remote } from './calls.ts'

/** What the function gets to work with. */
export interface Scene<T extends object> {
  /** Locks of a simulated process: nothing leaves the real one. */
  readonly hf: Holdfast
  /** What the lock protects. All its methods are asynchronous, because a network lies between them and the function. */
  readonly resource: Remote<T>
  /** Which of the two holders this is. */
  readonly who: 'first' | 'second'
}

export interface RehearseOptions<T extends object> {
  /** Makes what the lock protects, anew for every schedule: an object with methods. */
  readonly resource: () => T | Promise<T>
  /**
   * Methods that only look. What they saw counts, but they do no harm. All methods that are neither here nor in
   * `harmless` count as effects. `count`, or `orders.find` for an object in the resource. Default none.
   */
  readonly reads?: readonly string[]
  /** Methods that may come at any time, and tell nothing, such as a log. Default none. */
  readonly harmless?: readonly string[]
  /** What the second holder does. Default: the same function. */
  readonly rival?: (scene: Scene<T>) => unknown
  /** Called with the resource when both have ended; throws if the resource is not as it must be. */
  readonly check?: (resource: T) => unknown
  /**
   * Where to pause: 'await', just before the function continues after an await; 'call', while a call of the resource is
   * under way. `assertHeld()` can help against the first only. Default: both.
   */
  readonly pauses?: readonly ('await' | 'call')[]
  /** The most schedules to try. Default 2 000; 1 to 1 000 000. */
  readonly schedulesMax?: number
}

/** A rehearsal as a file exports it for `holdfast-lab rehearse FILE`: the function and its options in one. */
export interface Rehearsable<T extends object> extends RehearseOptions<T> {
  readonly run: (scene: Scene<T>) => unknown
}
