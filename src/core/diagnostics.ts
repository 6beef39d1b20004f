/** Events for those who watch; free when nobody does. Subscribe with node:diagnostics_channel. */
import { channel } from 'node:diagnostics_channel'

/** `{ line, error }`: something failed in the background, and nobody could be told by a rejection. */
const errors = channel('holdfast:error')
/** `{ line, token, waitedMs }`: a hold begins. */
const acquired = channel('holdfast:acquired')
/** `{ line, token, reason }`: a hold was lost. */
const lost = channel('holdfast:lost')
/** `{ line, token }`: a hold was released. */
const released = channel('holdfast:released')

export const diagnostics = {
  get watched(): boolean {
    return acquired.hasSubscribers || released.hasSubscribers
  },
  failed(line: string, error: unknown): void {
    if (errors.hasSubscribers) errors.publish({ line, error })
  },
  acquired(line: string, token: bigint, waitedMs: number): void {
    if (acquired.hasSubscribers) acquired.publish({ line, token, waitedMs })
  },
  lost(line: string, token: bigint, reason: string): void {
    if (lost.hasSubscribers) lost.publish({ line, token, reason })
  },
  released(line: string, token: bigint): void {
    if (released.hasSubscribers) released.publish({ line, token })
  },
}
