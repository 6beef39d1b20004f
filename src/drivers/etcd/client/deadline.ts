/** Waiting for a shared promise, but each caller no longer than its own deadline. */

/**
 * Settles as `promise` does, or rejects with `late()` once `performance.now()` has reached `deadlineMs`.
 * Meanwhile the process stays alive, unless it is background work that nobody awaits.
 */
export async function within<T>(
  promise: Promise<T>,
  deadlineMs: number,
  late: () => Error,
  background = false,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeUp = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), Math.max(0, deadlineMs - performance.now()))
    if (background) timer.unref()
  })
  try {
    return await Promise.race([promise, timeUp])
  } finally {
    clearTimeout(timer)
  }
}
