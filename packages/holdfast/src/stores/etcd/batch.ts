/**
 * Requests of one turn of the event loop, sent as one. etcd pays for a request by its consensus round and its HTTP/2
 * stream, far more than for what is in it, and those who are answered together go on together: 256 tasks that each lock
 * a name of their own are served by four requests at a time. Nobody waits for company.
 */
import { type EtcdClient, EtcdProtocolError, type TxnRequest, type TxnResponse } from '../../clients/etcd/index.ts'
import { isRefused } from './leases.ts'

/** etcd takes 128 operations in a transaction, and so many less in those inside as it has itself. */
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
   * Carries out a transaction on the keys of one line, with others on other lines in the same step. Two of one line
   * never share one: both would compare with what was there before either. A reader and a writer ask for an empty line
   * in one turn; both would find it empty, and both would hold. And two places that are put in one step would have one
   * number.
   */
  send(line: string, txn: TxnRequest, timeoutMs: number): Promise<TxnResponse> {
    return new Promise((resolve, reject) => {
      this.#batchFor(line, timeoutMs).members.push({ txn, resolve, reject })
    })
  }

  #batchFor(line: string, timeoutMs: number): Batch {
    let batch = this.#open.at(-1)
    // Only the last one is joined: what is asked for later is never sent earlier.
    if (
      batch === undefined ||
      batch.timeoutMs !== timeoutMs ||
      batch.members.length === MEMBERS_MAX ||
      batch.lines.has(line)
    ) {
      batch = { timeoutMs, members: [], lines: new Set() }
      // After all that follows from the last answer has run, and before anything new is read.
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
          // The inner one has no revision of its own.
          else resolve({ ...answer, header })
        }
      },
      reject: (error) => {
        // One of them was refused, and with it all; nothing was carried out. Each asks for itself and is told its own
        // reason.
        if (isRefused(error)) for (const member of members) this.#sendOne(member, timeoutMs)
        else for (const { reject } of members) reject(error)
      },
    }
    this.#sendOne(outer, timeoutMs)
  }
}
