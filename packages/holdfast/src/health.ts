/** Can this instance do its work now? For readiness probes. */
import type { Core } from './acquire/core.ts'
import { checkKeys, checkWhole } from './contract/check.ts'
import { UnsupportedError } from './contract/errors.ts'

/** Options of `health()`. */
export interface HealthOptions {
  /** How long the store may take to answer. Default 1 000; 1 to 60 000. */
  readonly timeoutMs?: number
}

/** Whether this process can take and keep locks now. */
export interface Health {
  /** True if the store answers, no hold is at risk, and the instance is open. */
  readonly ok: boolean
  /** Whether the store answered in time. */
  readonly reachable: boolean
  /** How long the store took to answer; null if it did not answer. */
  readonly roundTripMs: number | null
  /**
   * How long ago the store last answered a heartbeat; null if it never has, as when this process has held no lock yet.
   */
  readonly lastRenewalMs: number | null
  /** How many holds are at risk: their last renewal failed, and their lease still runs. */
  readonly holdsAtRisk: number
  /** Why `ok` is false; '' when it is true. */
  readonly reason: string
}

const KEY = 'holdfast/health'
const TIMEOUT_MS = 1_000

/** Settles within `timeoutMs`. Rejects only for wrong options. */
export async function checkHealth(core: Core, options: HealthOptions | undefined): Promise<Health> {
  const given = checkKeys('health options', options, ['timeoutMs'])
  const timeoutMs = given.timeoutMs === undefined ? TIMEOUT_MS : checkWhole('timeoutMs', given.timeoutMs, 1, 60_000)
  const { runtime } = core
  const sentAt = runtime.now()
  const failure = core.isClosing ? 'the instance was closed' : await answerOf(core, timeoutMs)
  const now = runtime.now()
  const { atRisk: holdsAtRisk } = core
  const { answeredAtMs } = core.heartbeat
  const reason = failure ?? (holdsAtRisk > 0 ? `${holdsAtRisk} holds are at risk: a renewal has failed` : '')
  return {
    ok: reason === '',
    reachable: failure === null,
    roundTripMs: failure === null ? now - sentAt : null,
    lastRenewalMs: answeredAtMs === null ? null : now - answeredAtMs,
    holdsAtRisk,
    reason,
  }
}

/** Resolves with null if the store answered, else with the reason why it did not. */
function answerOf(core: Core, timeoutMs: number): Promise<string | null> {
  return new Promise((resolve) => {
    const cancel = core.runtime.after(timeoutMs, () => resolve(`the store gave no answer within ${timeoutMs} ms`), true)
    const end = (failure: string | null): void => {
      cancel()
      resolve(failure)
    }
    ask(core).then(
      () => end(null),
      (error: unknown) => end(error instanceof Error ? error.message : String(error)),
    )
  })
}

async function ask({ driver }: Core): Promise<void> {
  try {
    await driver.swap(KEY, null)
  } catch (error) {
    if (!(error instanceof UnsupportedError)) throw error
    // This layout of keys has no cells. A look at one lock shows just as well that the store answers.
    for await (const _ of driver.list(KEY)) return
  }
}
