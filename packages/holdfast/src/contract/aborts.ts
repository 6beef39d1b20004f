/**
 * Lets many waiters use one AbortSignal. They share one listener, because Node warns of a leak from the eleventh
 * listener on.
 */

interface Shared {
  readonly fns: Set<() => void>
  readonly heard: () => void
}

const shared = new WeakMap<AbortSignal, Shared>()

/** Calls `fn` when the signal aborts. The signal must not have aborted yet. Call the result to stop listening. */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  const { fns, heard } = shared.get(signal) ?? listen(signal)
  fns.add(fn)
  return () => {
    fns.delete(fn)
    if (fns.size > 0 || shared.get(signal)?.fns !== fns) return
    signal.removeEventListener('abort', heard)
    shared.delete(signal)
  }
}

function listen(signal: AbortSignal): Shared {
  const fns = new Set<() => void>()
  const heard = (): void => {
    shared.delete(signal)
    for (const fn of fns) fn()
  }
  signal.addEventListener('abort', heard, { once: true })
  const made = { fns, heard }
  shared.set(signal, made)
  return made
}
