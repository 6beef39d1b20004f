/** The settings of redlock 5: same names, same defaults. */
import { checkKeys, shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'

/** The settings of redlock 5: same names, same defaults. */
export interface RedlockSettings {
  /** The part of a duration that clocks may drift apart. Default 0.01; 0 to 1. */
  readonly driftFactor: number
  /**
   * How often to try again; -1: for ever. Default 10. Together with `retryDelay` this says how long to wait in the
   * queue.
   */
  readonly retryCount: number
  /** Milliseconds between two tries. Default 200. */
  readonly retryDelay: number
  /** Accepted and ignored: a waiter stands in a queue and gets a wake-up. Default 100. */
  readonly retryJitter: number
  /**
   * `using` refuses a duration that is not 100 ms longer. Default 500. Leases are renewed at a third of the duration.
   */
  readonly automaticExtensionThreshold: number
  /**
   * For the time when some processes still use the package redlock: takes that package's keys, so that both exclude
   * each other. Default false. With one client only; meanwhile there is no queue and no fencing token.
   */
  readonly rolling: boolean
}

const DEFAULTS: RedlockSettings = Object.freeze({
  driftFactor: 0.01,
  retryCount: 10,
  retryDelay: 200,
  retryJitter: 100,
  automaticExtensionThreshold: 500,
  rolling: false,
})

export function resolveSettings(
  given: Partial<RedlockSettings> | undefined,
  base: RedlockSettings = DEFAULTS,
): RedlockSettings {
  const own = checkKeys('redlock settings', given, Object.keys(DEFAULTS))
  const settings: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(own)) {
    // redlock 5 takes its default without a word for a value of another type: '10' would be 10 by luck only.
    if (value === undefined) continue
    if (typeof value !== typeof DEFAULTS[key as keyof RedlockSettings] || Number.isNaN(value)) {
      throw new UsageError(`${key} must be a ${typeof DEFAULTS[key as keyof RedlockSettings]}, given ${shown(value)}`)
    }
    settings[key] = value
  }
  return Object.freeze(settings) as unknown as RedlockSettings
}

/** How long to wait in the queue: as long as redlock 5 would go on trying. */
export function waitMsOf({ retryCount, retryDelay }: RedlockSettings): number {
  if (retryCount < 0) return Number.POSITIVE_INFINITY
  return retryCount === 0 ? 0 : Math.max(1, retryCount * retryDelay)
}

/** When a lock of this duration must be treated as over, by the wall clock. */
export function expirationOf(startMs: number, duration: number, { driftFactor }: RedlockSettings): number {
  return startMs + duration - Math.round(driftFactor * duration) - 2
}
