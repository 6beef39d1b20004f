/**
 * A store that says nothing. A client gives up on it after some seconds, and a short lease may be over by then: so our
 * own clock tells the holders that they are at risk.
 */
import { StoreUnreachableError } from '../contract/errors.ts'
import type { Lease } from './lease.ts'
import type { Cancel, Runtime } from '../contract/runtime.ts'

/** How long the event loop gets to read an answer that has arrived. */
const READ_MS = 1

/**
 * Tells the holders of these leases, for which a renewal is under way, once the next renewal would be due and none has
 * been answered. Returns what ends that; null: nobody is to be told.
 */
export function heedSilence(batch: readonly Lease[], runtime: Runtime): Cancel | null {
  const now = runtime.now()
  // Leases of one request may differ in length. A lease that is past its time is asked for again after a failure.
  const due = (lease: Lease): number => lease.sinceMonoMs + 2 * lease.term.renewMs
  const later = batch.filter((lease) => !lease.awaited && due(lease) > now)
  if (later.length === 0) return null
  const at = later.reduce((first, lease) => Math.min(first, due(lease)), Number.POSITIVE_INFINITY)
  const tell = (): void => {
    const error = new StoreUnreachableError(`the store has not answered a renewal for ${Math.round(at - now)} ms`)
    for (const lease of later) {
      if (lease.busy && lease.list !== null && due(lease) <= runtime.now()) lease.listener.risked(error)
    }
  }
  // The thread may have been blocked, and the answer may wait in the socket: the event loop reads it first.
  let cancel = runtime.after(at - now, () => (cancel = runtime.after(READ_MS, tell, false)), false)
  return () => cancel()
}
