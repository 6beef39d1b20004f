/**
 * Renews a fixed lease by hand. A lease that becomes longer also gets a new id: a late request with the old id finds
 * nothing, so no request that is still under way can make the lease shorter again.
 */
import type { Core } from '../acquire/core.ts'
import { checkWhole } from '../contract/check.ts'
import type { Entry, Place, Stop } from '../contract/driver.ts'
import { UnsupportedError, UsageError } from '../contract/errors.ts'
import { TTL_MS_MAX } from '../contract/options.ts'
import type { Hold } from './hold.ts'
import { insist } from './insist.ts'

/** Refuses a hold that can't be extended, before the store is asked. */
export function checkExtension({ driver }: Core, { spec, lease }: Hold, ms: number): void {
  const line = spec.name
  checkWhole('extend', ms, 1, TTL_MS_MAX)
  if (spec.ask.settings.renew) {
    throw new UsageError(`lock ${JSON.stringify(line)} renews itself: take the lock with renew: false to extend it`, {
      line,
    })
  }
  if (ms > lease.ttlMs && driver.rename === undefined) {
    throw new UnsupportedError(
      `a lease can't become longer than its ttlMs of ${lease.ttlMs} on ${driver.name}, asked for ${ms}: ` +
        'take the lock with a longer ttlMs',
      { line },
    )
  }
}

/** Asks until the store has answered or the lease is over, and tells the hold the answer. */
export async function extend(core: Core, hold: Hold, ms: number): Promise<void> {
  const { heartbeat, runtime, cleanup } = core
  const { lease, spec } = hold
  const isLonger = ms > lease.ttlMs
  const ttlMs = Math.max(ms, lease.ttlMs)
  const old = lease.entry
  const entry: Entry = isLonger ? { ...old, id: runtime.randomId(), ttlMs: ttlMs + spec.ask.settings.lockDelayMs } : old
  let stop: Stop | null = null
  const ask = async (): Promise<Place | null> => {
    hold.assertLive()
    try {
      if (!isLonger) return (await core.driver.touch([entry]))[0] ?? null
      // Whoever upgrades this hold is told under the new id.
      stop ??= await core.driver.watch(entry.line, entry.id, lease.wake())
      return (await core.driver.rename?.({ ...entry, id: old.id }, entry.id)) ?? null
    } catch (error) {
      if (hold.live) hold.risked(error)
      throw error
    }
  }
  let isOurs = false
  try {
    const place = await insist(core, runtime.now() + heartbeat.leftMs(lease), ask)
    // If this code reads the answer after the old deadline, the next holder may already have the lock. So ask the clock
    // first.
    if (!hold.live) return
    // Another token means another place: the first has lapsed, and a late enter of its id has arrived (see
    // heartbeat.ts).
    if (place === null || place.token !== lease.token) {
      heartbeat.remove(lease)
      hold.ended('its place is gone from the store', 'gone')
      return
    }
    isOurs = true
    heartbeat.extend(lease, entry, ttlMs, place)
    if (isLonger) {
      lease.unwatch()
      lease.stop = stop
    }
    hold.placed(place)
  } finally {
    // The hold was released or lost meanwhile, under its old id. Under the new id the place may still stand, and nobody
    // wants that place. But others must be kept out for as long as the hold promised.
    if (isLonger && !isOurs) {
      ;(stop as Stop | null)?.()
      cleanup.drop({ entry, doubted: true }, hold.keepsOutMs)
    }
  }
}
