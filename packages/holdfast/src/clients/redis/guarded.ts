/**
 * Calls a listener. What it throws is its owner's bug and surfaces as an uncaught exception, but after the reader is
 * done: thrown here, it would cut off the replies that stand behind the message in the same chunk.
 */
export function guarded(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
