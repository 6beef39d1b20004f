/** Looks at all locks again and again, gently, and goes on through an outage of the store. */
import type { LineView } from '../contract/driver.ts'
import { StoreError } from '../contract/errors.ts'
import type { Holdfast } from '../holdfast.ts'

/** What a look saw. During an outage: what the last look saw. */
export interface LockLook {
  readonly lines: readonly LineView[]
  /** When that was, by the clock of this machine. */
  readonly seenMs: number
  /** Why the store gave no answer this time; null: the store has answered. */
  readonly outage: StoreError | null
}

/** If a look takes long, among very many locks, the store is left alone for at least this many times as long. */
const REST = 4

/** Ends when the signal aborts. The first look must succeed: a store that was never reached is an error. */
export async function* looks(
  hf: Holdfast,
  prefix: string,
  intervalMs: number,
  signal: AbortSignal,
): AsyncGenerator<LockLook> {
  let last: LockLook | null = null
  while (!signal.aborted) {
    const began = performance.now()
    try {
      const lines = await unlessAborted(linesOf(hf, prefix), signal)
      if (lines === null) return
      last = { lines, seenMs: Date.now(), outage: null }
    } catch (error) {
      if (last === null || !(error instanceof StoreError)) throw error
      last = { ...last, outage: error }
    }
    yield last
    await pause(Math.max(intervalMs, REST * (performance.now() - began)), signal)
  }
}

async function linesOf(hf: Holdfast, prefix: string): Promise<LineView[]> {
  const lines: LineView[] = []
  for await (const line of hf.list({ prefix })) lines.push(line)
  return lines
}

/** null once the signal has aborted: a store that does not answer must not keep a user who wants to leave. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | null> {
  return new Promise<T | null>((resolve, reject) => {
    const end = (): void => resolve(null)
    signal.addEventListener('abort', end, { once: true })
    // Looks go on for days: what is left of each would be its listener, and all that it saw.
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', end))
  })
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms)
    function end(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (signal.aborted) end()
    else signal.addEventListener('abort', end)
  })
}
