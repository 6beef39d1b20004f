/** Asks again and again until the answer is yes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { TestbedError } from './error.ts'

interface UntilOptions {
  /** What is awaited, for the error: "redis-1 answers". */
  readonly what: string
  /** Default 30 000. */
  readonly withinMs?: number | undefined
  /** Called between two tries: a reason to give up at once. */
  readonly hopeless?: () => string | null
  /** Added to the error, such as the end of a log. */
  readonly detail?: () => string
}

/** Resolves once `ask` does. If the time runs out, the last error of `ask` becomes the cause. */
export async function until(ask: () => Promise<void>, o: UntilOptions): Promise<void> {
  const withinMs = o.withinMs ?? 30_000
  const deadline = performance.now() + withinMs
  let pauseMs = 5
  for (;;) {
    let cause: unknown
    try {
      await ask()
      return
    } catch (error) {
      cause = error
    }
    const hopeless = o.hopeless?.() ?? null
    const why = hopeless ?? (performance.now() > deadline ? `not within ${withinMs} ms` : null)
    if (why !== null) throw new TestbedError(`${o.what}: ${why}${o.detail?.() ?? ''}`, { cause })
    await sleep(pauseMs)
    pauseMs = Math.min(pauseMs * 2, 100)
  }
}
