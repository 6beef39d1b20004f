/**
 * Remembers the lock options that an instance has resolved lately. Most programs write `hf.mutex(name, { ttlMs: 10_000
 * })` for every call: each time the object is new, but its values are the same. To check them again and to write their
 * JSON again costs as much as the rest of an acquisition.
 */
import type { Traits } from './driver.ts'
import { type LockOptions, type LockSettings, resolveLock } from './options.ts'

/** How many different options to remember. A program has a handful of call sites. */
const RECENT_MAX = 8

interface Resolved {
  readonly values: Readonly<Record<string, unknown>>
  readonly count: number
  readonly settings: LockSettings
}

export class RecentOptions {
  readonly #base: LockSettings
  readonly #traits: Traits
  readonly #recent: Resolved[] = []
  #oldest = 0

  constructor(base: LockSettings, traits: Traits) {
    this.#base = base
    this.#traits = traits
  }

  /** The settings for these options. Equal values give the same object. */
  resolve(given: LockOptions | undefined): LockSettings {
    if (given === undefined) return this.#base
    for (const resolved of this.#recent) if (isSame(given, resolved)) return resolved.settings
    const settings = resolveLock(given, this.#base, this.#traits)
    // Remember only a plain object: what an object inherits could change without our notice.
    if (isPlain(given)) this.#remember({ values: { ...given }, count: Object.keys(given).length, settings })
    return settings
  }

  #remember(resolved: Resolved): void {
    this.#recent[this.#oldest] = resolved
    this.#oldest = (this.#oldest + 1) % RECENT_MAX
  }
}

/**
 * Whether two options say the same. A member without a value never counts as equal: its name may be one that is
 * refused.
 */
function isSame(given: object, { values, count }: Resolved): boolean {
  if (!isPlain(given)) return false
  let same = 0
  for (const key in given) {
    const value = (given as Record<string, unknown>)[key]
    if (value === undefined || value !== values[key]) return false
    same++
  }
  return same === count
}

function isPlain(given: object): boolean {
  return given !== null && typeof given === 'object' && Object.getPrototypeOf(given) === Object.prototype
}
