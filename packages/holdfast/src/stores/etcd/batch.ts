/**
 * Sends requests of one turn of the event loop as one. For etcd a request costs its consensus round and its HTTP/2
 * stream, far more than what is in it. Callers that are answered together also go on together: 256 tasks that each lock
 * a name of their own need four requests at a time. No request waits for company.
 */
import { type EtcdClient, EtcdProtocolError, type TxnRequest, type TxnResponse } from '../../clients/etcd/index.ts'
import { isRefused } from './leases.ts'

/**
 * etcd takes 128 operations in a transaction. Of an inner transaction's limit the outer one's own operations are
 * subtracted.
 */
const MEMBERS_MAX = 64

interface Member {
  readonly txn: TxnRequest
  resolve(answer: TxnResponse): void
  reject(error: unknown): void
}

interface Batch {
  readonly timeoutMs: number
  readonly members: Member[]
  readonly lines: Set<string>
}

export class Batches {
  readonly #client: EtcdClient
  #open: Batch[] = []

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
    return new Promise((resolve, reject) => {
      this.#batchFor(line, timeoutMs).members.push({ txn, resolve, reject })
    })
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
