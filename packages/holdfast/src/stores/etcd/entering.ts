/** Enters a line: puts a key into its range, on a lease that lives. */
import type { Runtime } from '../../contract/runtime.ts'
import { StoreError } from '../../contract/errors.ts'
import { type Entry, type Instant, isGranted, type Place } from '../../contract/driver.ts'
import type { EtcdClient } from '../../clients/etcd/index.ts'
import type { Tombstones } from '../shared/tombstones.ts'
import type { Batches } from './batch.ts'
import { isLeaseGone, type Leases, mayHaveApplied } from './leases.ts'
import type { Look, Sight } from './look.ts'
import { placeValue } from './place-value.ts'
import type { OwnPlace, OwnPlaces } from './places.ts'
import type { Touching } from './touching.ts'
import type { HoldWakeups } from './wakeups-holds.ts'
import type { Wakeups } from './wakeups.ts'

export interface EnteringConfig {
  readonly client: EtcdClient
  readonly look: Look
  readonly runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly timeoutMs: number
  readonly batches: Batches
  readonly leases: Leases
  readonly ownPlaces: OwnPlaces
  readonly wakeups: Wakeups
  readonly holdWakeups: HoldWakeups
  readonly touching: Touching
  readonly tombstones: Tombstones
}

export class Entering {
  readonly #parts: EnteringConfig

  constructor(parts: EnteringConfig) {
    this.#parts = parts
  }

  /**
   * @param alone enter only if the line is empty: else leave no trace.
   */
  async enter(entry: Entry, alone: boolean): Promise<Place | null> {
    const { runtime, leases, ownPlaces, look, touching } = this.#parts
    const value = placeValue(entry, runtime.wallNow())
    const timeoutMs = Math.min(this.#parts.timeoutMs, Math.max(entry.ttlMs, 1_000))
    for (let isLeaseNew = false; ; ) {
      const lease = leases.ready(entry.ttlMs) ?? (await leases.fresh(entry.ttlMs))
      if (this.isDead(entry.id)) return null
      // Counted from before this request. If it were counted from a keep-alive sent after the place was made, the owner
      // would trust a place that was broken in between for longer than it stands.
      const { since } = lease
      const standing = ownPlaces.add(entry, lease)
      this.#parts.holdWakeups.begin()
      try {
        const { calm } = standing.slot
        const isShort = alone || calm.isLikely
        const { batches } = this.#parts
        const txn = isShort ? look.aloneTxn(standing, lease, value, alone) : look.behindTxn(standing, lease, value)
        const answer = await (isShort && !alone
          ? batches.enterAlone(entry, txn, timeoutMs)
          : batches.send(entry.line, txn, timeoutMs))
        const seen = look.entered(standing, lease, answer)
        calm.found('token' in seen && seen.front === 0)
        if ('token' in seen) return this.#entered(standing, seen, since)
        if (seen.isThere) return (await touching.touch([entry]))[0] ?? null
        if (isShort && !alone) continue
        this.#forget(standing)
        look.checkCapacity(entry, seen.other)
        if (alone) return null
        throw new StoreError(`etcd: lock ${JSON.stringify(entry.line)} was refused for no known reason`)
      } catch (error) {
        if (isLeaseGone(error) && !isLeaseNew) {
          isLeaseNew = true
          leases.lapsed(lease)
          continue
        }
        if (mayHaveApplied(error)) {
          standing.doubted = true
          leases.retire(lease)
        } else if (standing.token === 0n) this.#forget(standing)
        throw error
      }
    }
  }

  async hasRoom(entry: Entry): Promise<boolean> {
    const { client, look } = this.#parts
    const { responses } = await client.txn({ success: look.roomOps(entry) })
    return look.rooms([entry], responses)[0] !== null
  }

  /** True: the place was given up before it got an answer. A late request must not bring it back. */
  isDead(id: string): boolean {
    const { tombstones, runtime } = this.#parts
    return tombstones.find(id, runtime.now()) === true
  }

  #entered(standing: OwnPlace, sight: Sight, since: Instant): Place {
    const { entry } = standing
    const { token, ahead, wanted } = sight
    standing.token = token
    standing.modRevision = token
    standing.ahead = ahead
    standing.granted = isGranted(entry, sight)
    if (!standing.granted) this.#parts.wakeups.await(entry.id, standing.slot.keyText, sight)
    return { token, ahead, recheckMs: null, since, wanted }
  }

  #forget(standing: OwnPlace): void {
    this.#parts.ownPlaces.remove(standing.entry.id)
    this.#parts.leases.release(standing)
  }
}
