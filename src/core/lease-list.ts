/**
 * Leases in the order of their last renewal. All of a list have one ttl, so its head is both the first to renew and the
 * first to lapse: one timer serves a hundred thousand holds, and none is searched for.
 */
import type { Lease } from './lease.ts'

export class LeaseList {
  head: Lease | null = null
  tail: Lease | null = null

  insert(lease: Lease): void {
    // Answers may overtake one another, so the place is looked for from the end: nearly always the end itself.
    let after = this.tail
    while (after !== null && after.sinceMonoMs > lease.sinceMonoMs) after = after.prev
    const before = after === null ? this.head : after.next
    lease.list = this
    lease.prev = after
    lease.next = before
    if (after === null) this.head = lease
    else after.next = lease
    if (before === null) this.tail = lease
    else before.prev = lease
  }

  remove(lease: Lease): void {
    if (lease.prev === null) this.head = lease.next
    else lease.prev.next = lease.next
    if (lease.next === null) this.tail = lease.prev
    else lease.next.prev = lease.prev
    lease.list = null
    lease.prev = null
    lease.next = null
  }
}

/** The leases of one ttl: those that rest until their next heartbeat, and those for which only the deadline counts now. */
export class TtlClass {
  readonly ttlMs: number
  readonly renewMs: number
  readonly usableMs: number
  readonly resting: LeaseList = new LeaseList()
  readonly exposed: LeaseList = new LeaseList()

  constructor(ttlMs: number, renewMs: number, usableMs: number) {
    this.ttlMs = ttlMs
    this.renewMs = renewMs
    this.usableMs = usableMs
  }
}
