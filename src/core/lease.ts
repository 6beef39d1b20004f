/** This process's side of one place: what the store last said of it, and until when that may be believed. */
import type { Entry, Place, Push, Stop, Wake } from '../driver.ts'
import type { LeaseList, TtlClass } from './lease-list.ts'

/** Whoever the place serves at the moment: an acquisition while it waits, a hold once it is granted. */
export interface LeaseListener {
  /** The store answered: the place lives, and stands here. */
  placed(place: Place): void
  /** The store could not be asked. The place may still live. */
  risked(error: unknown): void
  /** The place is gone, or must be taken to be: its deadline has passed. */
  ended(reason: string): void
  /** The store says that something has changed. */
  woke(push: Push | undefined): void
}

export class Lease {
  readonly entry: Entry
  /** How long the holder believes in an answer. The store may keep the place for longer (`lockDelayMs`). */
  readonly ttlMs: number
  listener: LeaseListener
  /** Whether heartbeats keep it; a fixed lease has none. */
  renewed = true
  /** Whether a caller waits for it, so that the process must not end. */
  awaited = false
  token = 0n
  sinceMonoMs = 0
  sinceWallMs = 0
  /** A request to enter got no answer: it may still be on its way, and arrive after the place was left. */
  doubted = false
  /** Why the thread that renews has given it up, if it has. */
  goneReason: string | null = null
  /** Ends the driver's watch on this place. */
  stop: Stop | null = null

  // The keeper's own marks. A lease is in one list or in none; being in none means that it is not kept.
  list: LeaseList | null = null
  kept: TtlClass | null = null
  prev: Lease | null = null
  next: Lease | null = null
  /** A touch is under way. */
  busy = false
  /** Something changed while a touch was under way: its answer may be older than the change. */
  again = false

  constructor(entry: Entry, ttlMs: number, listener: LeaseListener) {
    this.entry = entry
    this.ttlMs = ttlMs
    this.listener = listener
  }

  /** For the driver's watch. Made here, since a closure keeps all that is in its scope: an attempt would live as long as its hold. */
  wake(): Wake {
    return (push) => this.listener.woke(push)
  }

  take(place: Place): void {
    this.token = place.token
    // Another thread may have renewed it since this answer was made.
    if (place.since.monoMs < this.sinceMonoMs) return
    this.sinceMonoMs = place.since.monoMs
    this.sinceWallMs = place.since.wallMs
  }

  unwatch(): void {
    const { stop } = this
    this.stop = null
    stop?.()
  }
}
