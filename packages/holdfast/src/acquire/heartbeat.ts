/**
 * Keeps every place of a process alive: one heartbeat for all, and one loss timer that needs no I/O. A renewal only
 * moves a deadline. Whether a renewal fails or hangs, this process's own clock meets the deadline.
 */
import type { Entry, Instant, Place } from '../contract/driver.ts'
import { channels, type EventSource, type LossCause } from '../contract/events.ts'
import { type Lease, type LeaseList, LeaseTerm } from './lease.ts'
import type { Cancel, Runtime } from '../contract/runtime.ts'
import { heedSilence } from './silence.ts'

export type Touch = (entries: readonly Entry[]) => Promise<(Place | null)[]>

/** Another thread that renews places while this thread is blocked, and knows what became of them. */
export interface WorkerHeartbeat {
  /**
   * That thread's last renewal of the place, as instants of this thread, or why it gave the place up. null: nothing to
   * tell.
   */
  latest(id: string): { readonly since: Instant } | { readonly gone: string; readonly cause: LossCause } | null
  /** Keep the place from now on: renew it if this thread does not. */
  keep(id: string): void
  /** From now on the place is a fixed lease. */
  fix(id: string): void
}

/** The most places in one call, and calls in one turn of the event loop: a hundred thousand holds must not block it. */
const BATCH = 500
const BATCHES_PER_TURN = 4
/** A place may be renewed early, together with others: earlier by this part of the renewal interval. */
const COMPANY = 0.25

export class Heartbeat {
  readonly #runtime: Runtime
  readonly #source: EventSource
  readonly #touch: Touch
  readonly #worker: WorkerHeartbeat | null
  readonly #terms = new Map<number, LeaseTerm>()
  readonly #looks = new Set<Lease>()
  /** When the store last answered a heartbeat. */
  answeredAtMs: number | null = null
  #awaited = 0
  #cancel: Cancel | null = null
  #firesAt = Number.POSITIVE_INFINITY
  #keepsAlive = false
  #closed = false

  constructor(runtime: Runtime, touch: Touch, worker: WorkerHeartbeat | null, source: EventSource) {
    this.#runtime = runtime
    this.#source = source
    this.#touch = touch
    this.#worker = worker
  }

  /** What all leases of this length share. */
  termOf(ttlMs: number): LeaseTerm {
    return this.#terms.get(ttlMs) ?? new LeaseTerm(ttlMs)
  }

  /** Begins to keep a place that the store has just answered for. */
  add(lease: Lease): void {
    const term = this.#listed(lease)
    this.#worker?.keep(lease.id)
    this.#rest(lease)
    if (lease.awaited) this.#awaited++
    this.#arm(lease.sinceMonoMs + (lease.renewed ? term.renewMs : term.usableMs))
  }

  remove(lease: Lease): void {
    if (lease.list === null) return
    lease.list.remove(lease)
    if (this.#looks.size > 0) this.#looks.delete(lease)
    if (lease.awaited) this.#letEnd()
  }

  /**
   * A waiter has become a holder. No caller waits for the place any more, and a fixed lease is not renewed from here
   * on.
   */
  hold(lease: Lease, renewed: boolean): void {
    if (lease.awaited) {
      lease.awaited = false
      if (lease.list !== null) this.#letEnd()
    }
    lease.renewed = renewed
    if (!renewed) this.#worker?.fix(lease.id)
    if (!renewed && lease.list !== null) {
      lease.list.remove(lease)
      this.#rest(lease)
      this.#arm(lease.sinceMonoMs + lease.term.usableMs)
    }
  }

  /**
   * The holder of a fixed lease has renewed it by hand. The answer was for this entry, and for a lease of this length.
   */
  extend(lease: Lease, entry: Entry, ttlMs: number, place: Place): void {
    if (lease.list === null) return
    lease.list.remove(lease)
    lease.id = entry.id
    lease.term = this.termOf(ttlMs)
    lease.take(place)
    const term = this.#listed(lease)
    this.#worker?.fix(entry.id)
    this.#rest(lease)
    this.#arm(lease.sinceMonoMs + term.usableMs)
  }

  /** After the last waiter has gone, the timer must no longer keep the process from ending. */
  #letEnd(): void {
    this.#awaited--
    if (this.#awaited > 0 || !this.#keepsAlive || this.#cancel === null) return
    this.#cancel()
    this.#cancel = null
    this.#arm(this.#firesAt)
  }

  /** Asks the store about this place now. All places asked about in one turn of the event loop go in one call. */
  look(lease: Lease): void {
    // Asking also renews, and a fixed lease must not be renewed.
    if (lease.list === null || !lease.renewed || this.#closed) return
    if (lease.busy) {
      lease.again = true
      return
    }
    if (this.#looks.size === 0) queueMicrotask(() => this.#sendLooks())
    this.#looks.add(lease)
  }

  /** How long the holder may still trust the place, by the clock that never steps. */
  leftMs(lease: Lease): number {
    if (this.#worker !== null) this.#hear(lease, this.#worker)
    return lease.sinceMonoMs + lease.term.usableMs - this.#runtime.now()
  }

  /**
   * While a machine sleeps, the monotonic clock stops and the wall clock does not. If the wall clock is past the
   * deadline, only the store knows whether the place still lives.
   */
  isDoubtful(lease: Lease): boolean {
    return this.#runtime.wallNow() >= lease.sinceWallMs + lease.term.usableMs
  }

  /** This thread may have been blocked. Read what the other thread did meanwhile before judging anything. */
  #hear(lease: Lease, worker: WorkerHeartbeat): void {
    const latest = worker.latest(lease.id)
    if (latest === null) return
    const { list } = lease
    if ('gone' in latest) {
      lease.gone = { reason: latest.gone, cause: latest.cause }
    } else if (latest.since.monoMs <= lease.sinceMonoMs) {
      return
    }
    list?.remove(lease)
    lease.sinceMonoMs = 'gone' in latest ? Number.NEGATIVE_INFINITY : latest.since.monoMs
    lease.sinceWallMs = 'gone' in latest ? Number.NEGATIVE_INFINITY : latest.since.wallMs
    list?.insert(lease)
  }

  close(): void {
    this.#closed = true
    this.#cancel?.()
    this.#cancel = null
    this.#looks.clear()
  }

  /** The term that the lease belongs to, put into the list. Another term of the same length may have come first. */
  #listed(lease: Lease): LeaseTerm {
    if (!lease.term.isListed) {
      lease.term = this.termOf(lease.ttlMs)
      lease.term.isListed = true
      this.#terms.set(lease.ttlMs, lease.term)
    }
    return lease.term
  }

  #rest(lease: Lease): void {
    const { resting, exposed } = lease.term
    ;(lease.renewed ? resting : exposed).insert(lease)
  }

  #arm(at: number): void {
    const keepAlive = this.#awaited > 0
    if (this.#closed || at === Number.POSITIVE_INFINITY) return
    if (this.#cancel !== null && this.#firesAt <= at && (this.#keepsAlive || !keepAlive)) return
    this.#cancel?.()
    const firesAt = Math.min(at, this.#firesAt)
    this.#firesAt = firesAt
    this.#keepsAlive = keepAlive
    this.#cancel = this.#runtime.after(firesAt - this.#runtime.now(), () => this.#tick(), keepAlive)
  }

  #tick(): void {
    this.#cancel = null
    this.#firesAt = Number.POSITIVE_INFINITY
    let batches = BATCHES_PER_TURN
    let next = Number.POSITIVE_INFINITY
    for (const term of this.#terms.values()) {
      this.#expire(term.exposed, term)
      this.#expire(term.resting, term)
      this.#doubt(term.exposed, term)
      this.#doubt(term.resting, term)
      batches -= this.#renew(term, batches)
      next = Math.min(next, this.#dueAt(term))
      if (term.exposed.head === null && term.resting.head === null) {
        this.#terms.delete(term.ttlMs)
        term.isListed = false
      }
    }
    this.#arm(next)
  }

  #expire(list: LeaseList, term: LeaseTerm): void {
    const now = this.#runtime.now()
    for (let lease = list.head; lease !== null && lease.sinceMonoMs + term.usableMs <= now; lease = list.head) {
      if (this.leftMs(lease) > 0) continue
      this.#end(lease, `its lease of ${term.ttlMs} ms ran out before the store confirmed a renewal`)
    }
  }

  /** A suspended machine has just resumed, or somebody set the clock: only the store knows. */
  #doubt(list: LeaseList, term: LeaseTerm): void {
    const wallMs = this.#runtime.wallNow()
    for (let lease = list.head, next: Lease | null; lease !== null; lease = next) {
      next = lease.next
      if (lease.sinceWallMs + term.usableMs > wallMs) return
      if (lease.renewed) this.look(lease)
      else this.#end(lease, `by the wall clock its fixed lease of ${term.ttlMs} ms has run out`)
    }
  }

  #renew(term: LeaseTerm, batchesMax: number): number {
    const now = this.#runtime.now()
    const head = term.resting.head
    if (head === null || head.sinceMonoMs + term.renewMs > now) return 0
    // When one place must be renewed, places that are due soon come along: fewer calls, and fuller ones.
    const due = now - term.renewMs * (1 - COMPANY)
    let batches = 0
    while (batches < batchesMax) {
      const batch: Lease[] = []
      for (
        let lease = term.resting.head;
        lease !== null && lease.sinceMonoMs <= due && batch.length < BATCH;
        lease = term.resting.head
      ) {
        this.#expose(lease)
        batch.push(lease)
      }
      if (batch.length === 0) break
      this.#send(batch)
      batches++
    }
    return batches
  }

  #expose(lease: Lease): void {
    const { exposed } = lease.term
    // One that is asked for again is there already, in its order. Put in anew it would be searched for from the end:
    // after a short silence of the store a million holds did nothing else for minutes, and all of them were lost.
    if (lease.list !== exposed) {
      lease.list?.remove(lease)
      exposed.insert(lease)
    }
    lease.busy = true
  }

  #dueAt(term: LeaseTerm): number {
    const renewal = term.resting.head === null ? Number.POSITIVE_INFINITY : term.resting.head.sinceMonoMs + term.renewMs
    const loss = term.exposed.head === null ? Number.POSITIVE_INFINITY : term.exposed.head.sinceMonoMs + term.usableMs
    return Math.min(renewal, loss)
  }

  #sendLooks(): void {
    const batch: Lease[] = []
    for (const lease of this.#looks) {
      if (lease.list === null || lease.busy) continue
      this.#expose(lease)
      this.#arm(lease.sinceMonoMs + lease.term.usableMs)
      batch.push(lease)
      if (batch.length === BATCH) this.#send(batch.splice(0))
    }
    this.#looks.clear()
    if (batch.length > 0) this.#send(batch)
  }

  #send(batch: readonly Lease[]): void {
    const answer = this.#touch(batch.map((lease) => lease.entry))
    if (channels.renewed.hasSubscribers) this.#tellRenewed(batch, answer)
    const heard = heedSilence(batch, this.#runtime)
    answer.then(
      (places) => this.#answered(batch, places, heard),
      (error: unknown) => this.#failed(batch, error, heard),
    )
  }

  #tellRenewed(batch: readonly Lease[], answer: Promise<readonly (Place | null)[]>): void {
    const sentAt = this.#runtime.now()
    const tell = (leases: readonly Lease[], failure: { readonly error?: unknown }): void => {
      const locks = leases.map(({ line }) => line)
      channels.renewed.publish({ ...this.#source, locks, durationMs: this.#runtime.now() - sentAt, ...failure })
    }
    answer.then(
      // A store that answers after a lease has ended here renews it for nobody; nor does it renew a place that is gone.
      (places) =>
        tell(
          batch.filter(({ list }, i) => list !== null && (places[i] ?? null) !== null),
          {},
        ),
      (error: unknown) => tell(batch, { error }),
    )
  }

  #answered(batch: readonly Lease[], places: readonly (Place | null)[], heard: Cancel | null): void {
    heard?.()
    if (this.#closed) return
    this.answeredAtMs = this.#runtime.now()
    let next = Number.POSITIVE_INFINITY
    for (const [i, lease] of batch.entries()) {
      lease.busy = false
      const { term } = lease
      if (lease.list === null) continue
      const place = places[i]
      if (place === null || place === undefined) {
        this.#end(lease, 'its place is gone from the store', 'gone')
        continue
      }
      if (!lease.awaited && place.token !== lease.token) {
        // Schedule: A's first enter is slow; A asks again, and holds; A's thread is blocked, and the place lapses; B
        // holds; the slow enter arrives, and makes a place under A's id; A's renewal, sent in time, finds that place.
        this.#end(lease, 'its place is gone from the store; another one stands under its id', 'gone')
        continue
      }
      lease.list.remove(lease)
      lease.take(place)
      this.#rest(lease)
      next = Math.min(next, this.#dueAt(term))
      if (this.leftMs(lease) <= 0) {
        // The process slept over the answer and reads it after its deadline. The answer proves nothing now.
        this.#end(lease, `the store's answer was read after the lease of ${term.ttlMs} ms had run out`)
        continue
      }
      if (this.isDoubtful(lease)) {
        // Between question and answer the machine slept, or somebody set the clock: ask once more.
        this.look(lease)
        continue
      }
      lease.listener.placed(place)
      if (lease.again) {
        lease.again = false
        this.look(lease)
      }
    }
    this.#arm(next)
  }

  /** One failed renewal means at risk, not lost: try again soon, until the deadline. */
  #failed(batch: readonly Lease[], error: unknown, heard: Cancel | null): void {
    heard?.()
    if (this.#closed) return
    const first = batch[0]
    if (first === undefined) return
    const pauseMs = Math.min(first.ttlMs / 10, 1_000) * (0.5 + this.#runtime.random())
    for (const lease of batch) {
      if (lease.list !== null) lease.listener.risked(error)
    }
    this.#runtime.after(
      pauseMs,
      () => {
        for (const lease of batch) {
          lease.busy = false
          lease.again = false
          this.look(lease)
        }
      },
      batch.some((lease) => lease.awaited),
    )
  }

  #end(lease: Lease, reason: string, cause: LossCause = 'lapsed'): void {
    this.remove(lease)
    lease.listener.ended(lease.gone?.reason ?? reason, lease.gone?.cause ?? cause)
  }

  /** Ends a place when a caller found its deadline passed before the timer could fire. */
  expire(lease: Lease): void {
    if (lease.list !== null && this.leftMs(lease) <= 0) {
      this.#end(lease, `its lease of ${lease.ttlMs} ms ran out before the store confirmed a renewal`)
    }
  }
}
