/**
 * Sends requests of one turn of the event loop as one. For etcd a request costs its consensus round and its HTTP/2
 * stream, far more than what is in it. Callers that are answered together also go on together: 256 tasks that each lock
 * a name of their own need four requests at a time. No request waits for company.
 */
import type { Entry } from '../../contract/driver.ts'
import { type EtcdClient, EtcdProtocolError, type TxnRequest, type TxnResponse } from '../../clients/etcd/index.ts'
import { isRefused } from './leases.ts'
import type { OwnPlace } from './places.ts'

/**
 * etcd takes 128 operations in a transaction. Of an inner transaction's limit the outer one's own operations are
 * subtracted.
 */
const MEMBERS_MAX = 64

interface Member {
  txn: TxnRequest
  resolve(answer: TxnResponse): void
  reject(error: unknown): void
}

/** A place that goes in this turn, and that was never written anew: its number says when it came. */
interface Leaver {
  readonly place: OwnPlace
  readonly member: Member
  readonly timeoutMs: number
}

interface Batch {
  readonly timeoutMs: number
  readonly members: Member[]
  readonly lines: Set<string>
}

export class Batches {
  readonly #client: EtcdClient
  #open: Batch[] = []
  /** Who leaves which line in this turn. */
  readonly #leavers = new Map<string, Leaver>()

  constructor(client: EtcdClient) {
    this.#client = client
  }

  /**
   * Carries out a transaction on the keys of one line, with others on other lines in the same step. Two transactions of
   * one line never share a step, because both would compare with the state before either. Schedule: a reader and a
   * writer ask for an empty line in one turn; both would find it empty, and both would hold. Also, two places put in
   * one step would have one number.
   */
  send(line: string, txn: TxnRequest, timeoutMs: number): Promise<TxnResponse> {
    // Whoever asks later must not be let in with the place that goes, ahead of this caller.
    this.#leavers.delete(line)
    return new Promise((resolve, reject) => {
      this.#batchFor(line, timeoutMs).members.push({ txn, resolve, reject })
    })
  }

  /** The same for a place that goes. */
  leave(place: OwnPlace, txn: TxnRequest, timeoutMs: number): Promise<TxnResponse> {
    const { token, modRevision, entry } = place
    return new Promise((resolve, reject) => {
      const member = { txn, resolve, reject }
      this.#batchFor(entry.line, timeoutMs).members.push(member)
      if (token === modRevision) this.#leavers.set(entry.line, { place, member, timeoutMs })
    })
  }

  /**
   * The same for a place that comes if the line is empty. If a place of this process goes in the same turn, one step
   * does both: a kept lock whose numbers are used up waits for one answer and not for two.
   */
  enterAlone({ line }: Entry, txn: TxnRequest, timeoutMs: number): Promise<TxnResponse> {
    const leaver = this.#leavers.get(line)
    if (leaver?.timeoutMs !== timeoutMs) return this.send(line, txn, timeoutMs)
    this.#leavers.delete(line)
    return new Promise((resolve, reject) => {
      this.#join(leaver, { txn, resolve, reject })
    })
  }

  /**
   * The place that goes must be the only one of its line. No key came or was written after it, and none came before
   * it: a reader beside it would be overlooked, and a waiter behind it overtaken.
   */
  #join({ place, member, timeoutMs }: Leaver, next: Member): void {
    const { line } = place.slot
    const [key, rangeEnd, last] = [line.start, line.end, { ...member }]
    const apart = (): void => {
      this.#sendOne(last, timeoutMs)
      this.#sendOne(next, timeoutMs)
    }
    member.txn = {
      compare: [
        ...(last.txn.compare ?? []),
        { target: 'mod', result: '<', key, rangeEnd, modRevision: place.token + 1n },
        { target: 'create', result: '>', key, rangeEnd, createRevision: place.token - 1n },
      ],
      success: [...(last.txn.success ?? []), ...(next.txn.success ?? [])],
    }
    member.resolve = (answer) => {
      if (!answer.succeeded) return apart()
      last.resolve({ ...answer, responses: answer.responses.slice(0, 1) })
      next.resolve({ ...answer, responses: answer.responses.slice(1) })
    }
    member.reject = (error) => {
      if (isRefused(error)) return apart()
      last.reject(error)
      next.reject(error)
    }
  }

  #batchFor(line: string, timeoutMs: number): Batch {
    let batch = this.#open.at(-1)
    // Join only the last batch: a later request is never sent earlier.
    if (
      batch === undefined ||
      batch.timeoutMs !== timeoutMs ||
      batch.members.length === MEMBERS_MAX ||
      batch.lines.has(line)
    ) {
      batch = { timeoutMs, members: [], lines: new Set() }
      // After all code that follows from the last answer has run, and before anything new is read.
      if (this.#open.length === 0) process.nextTick(() => this.#sendAll())
      this.#open.push(batch)
    }
    batch.lines.add(line)
    return batch
  }

  #sendAll(): void {
    const batches = this.#open
    this.#open = []
    this.#leavers.clear()
    for (const { members, timeoutMs } of batches) {
      if (members.length === 1) this.#sendOne(members[0] as Member, timeoutMs)
      else this.#sendMany(members, timeoutMs)
    }
  }

  #sendOne({ txn, resolve, reject }: Member, timeoutMs: number): void {
    this.#client.txn(txn, { timeoutMs }).then(resolve, reject)
  }

  #sendMany(members: readonly Member[], timeoutMs: number): void {
    const outer: Member = {
      txn: { success: members.map(({ txn }) => ({ txn })) },
      resolve: ({ header, responses }) => {
        for (const [i, { resolve, reject }] of members.entries()) {
          const answer = responses[i]?.txn
          if (answer === undefined)
            reject(new EtcdProtocolError('etcd: a transaction inside a transaction got no answer'))
          // The inner transaction has no revision of its own.
          else resolve({ ...answer, header })
        }
      },
      reject: (error) => {
        // etcd refused one of them, and so the whole step; nothing was carried out. Send each by itself, so that each
        // gets its own reason.
        if (isRefused(error)) for (const member of members) this.#sendOne(member, timeoutMs)
        else for (const { reject } of members) reject(error)
      },
    }
    this.#sendOne(outer, timeoutMs)
  }
}
