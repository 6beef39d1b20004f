/** Several lines of one store in one step: places in all of them, or in none. Nobody waits here; who must wait does so line by line. */
import { isGranted, type Place } from '../driver.ts'
import type { Core } from './core.ts'
import { diagnostics } from './diagnostics.ts'
import type { Handle } from './handle.ts'
import { Lease } from './lease.ts'
import type { Wish } from './options.ts'
import { Overture } from './overture.ts'
import { makeEntry, type Spec } from './spec.ts'

/**
 * A hold of each, in the order given. null: not all are free, or the store did not answer in time, or can't do these
 * at once; nothing is kept then, and the caller goes the long way, which also tells why.
 */
export async function enterTogether(core: Core, specs: readonly Spec[], wish: Wish): Promise<Handle[] | null> {
  const { driver, runtime } = core
  if (driver.enterAll === undefined) return null
  const overture = new Overture()
  const leases = specs.map((spec) => new Lease(makeEntry(spec, runtime.randomId()), spec.settings.ttlMs, overture))
  const entries = leases.map(({ entry }) => entry)
  const undo = (): void => {
    for (const lease of leases) lease.unwatch()
    for (const entry of entries) core.reaper.drop(entry)
  }
  let places: Place[] | null
  try {
    // All of them, before anything is undone: a watch that came into force afterwards would never be ended.
    const watches = await Promise.allSettled(leases.map((lease) => watch(core, lease)))
    const failed = watches.find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    places = await inTime(core, wish, driver.enterAll(entries), undo)
  } catch (error) {
    // Asked for one by one, they give the same error or a better one.
    diagnostics.failed(specs.map(({ name }) => name).join(', '), error)
    undo()
    return null
  }
  if (places === null) {
    for (const lease of leases) lease.unwatch()
    return null
  }
  for (const [i, lease] of leases.entries()) lease.take(places[i] as Place)
  // The instance may have been closed meanwhile: then nobody would ever give these back.
  if (core.isClosing || !leases.every((lease, i) => isUsable(core, lease, places[i] as Place))) {
    undo()
    return null
  }
  const handles = leases.map((lease, i) => core.admit(lease, { ...(specs[i] as Spec), shareKey: null }, 0, wish.owner))
  if (overture.woken) for (const lease of leases) core.keeper.look(lease)
  return handles
}

async function watch(core: Core, lease: Lease): Promise<void> {
  const { line, id } = lease.entry
  lease.stop = await core.driver.watch(line, id, (push) => lease.listener.woke(push))
}

/** An answer that is read after its own deadline, or after the machine slept, is not a grant. */
function isUsable(core: Core, lease: Lease, place: Place): boolean {
  return isGranted(lease.entry, place) && core.keeper.leftMs(lease) > 0 && !core.keeper.isDoubtful(lease)
}

/** The answer, or null when the caller's time is up first: what comes then is undone. */
function inTime(
  core: Core,
  { waitMs, signal }: Wish,
  answer: Promise<Place[] | null>,
  undo: () => void,
): Promise<Place[] | null> {
  return new Promise((resolve, reject) => {
    let isOver = false
    const giveUp = (): void => {
      isOver = true
      settle()
      undo()
      resolve(null)
    }
    const limitMs = waitMs === 0 ? core.connectTimeoutMs : waitMs
    const cancel = limitMs === Number.POSITIVE_INFINITY ? null : core.runtime.after(limitMs, giveUp, true)
    signal?.addEventListener('abort', giveUp, { once: true })
    const settle = (): void => {
      cancel?.()
      signal?.removeEventListener('abort', giveUp)
    }
    const end = (then: () => void): void => {
      settle()
      if (isOver) undo()
      else then()
    }
    answer.then(
      (places) => end(() => resolve(places)),
      (error: unknown) => end(() => reject(error)),
    )
  })
}
