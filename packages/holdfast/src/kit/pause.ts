/** A pause inside a call: it ends by time, by an event, or by the caller's own signal. */
import { onAbort } from '../contract/aborts.ts'
import type { Runtime } from '../contract/runtime.ts'

/**
 * Resolves after `ms`, or once `until` has settled. Rejects with the reason of the signal. Keeps the process alive
 * meanwhile.
 */
export function pause(
  runtime: Runtime,
  ms: number,
  signal: AbortSignal | null = null,
  until: Promise<unknown> | null = null,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason)
      return
    }
    const cancel = ms === Number.POSITIVE_INFINITY ? null : runtime.after(ms, () => end(), true)
    const abort = (): void => {
      cancel?.()
      reject(signal?.reason)
    }
    const forget = signal === null ? null : onAbort(signal, abort)
    const end = (): void => {
      cancel?.()
      forget?.()
      resolve()
    }
    until?.then(end, end)
  })
}
