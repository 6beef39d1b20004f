/** The requests under way: not yet sent, or sent and unanswered, and what becomes of them if no answer comes. */
import { MalformedReplyError } from './jute.ts'
import { XID_MAX, XID_OFFSET } from './protocol.ts'
import type { Request } from './requests.ts'

export class Call {
  readonly request: Request<unknown>
  readonly isAuth: boolean
  readonly xid: number
  /** When the call gives up waiting. */
  readonly deadline: number
  sentAt: number = Number.NaN
  settled = false
  readonly #resolve: (value: never) => void
  readonly #reject: (error: Error) => void

  constructor(
    request: Request<unknown>,
    xid: number,
    isAuth: boolean,
    deadline: number,
    resolve: (value: never) => void,
    reject: (error: Error) => void,
  ) {
    this.request = request
    this.xid = xid
    this.isAuth = isAuth
    this.deadline = deadline
    this.#resolve = resolve
    this.#reject = reject
  }

  get sent(): boolean {
    return !Number.isNaN(this.sentAt)
  }

  resolve(value: unknown): void {
    this.settled = true
    this.#resolve(value as never)
  }

  reject(error: Error): void {
    this.settled = true
    this.#reject(error)
  }
}

export class Calls {
  #unsent: Call[] = []
  // Answers come in the order of the requests. A head index instead of shift() keeps a burst of thousands linear.
  #sent: Call[] = []
  #head = 0
  #xid = 0
  #waiting = 0
  #soonest = Number.POSITIVE_INFINITY

  /** No later than the deadline of any call under way; it may belong to a call that has ended since. */
  get soonest(): number {
    return this.#soonest
  }

  /** How many callers await an answer. */
  get waiting(): number {
    return this.#waiting
  }

  nextXid(): number {
    this.#xid = this.#xid === XID_MAX ? 1 : this.#xid + 1
    return this.#xid
  }

  add(call: Call): void {
    call.request.frame.writeInt32BE(call.xid, XID_OFFSET)
    this.#unsent.push(call)
    this.#waiting++
    if (call.deadline < this.#soonest) this.#soonest = call.deadline
  }

  /** Marks all unsent calls as sent at `now`, and appends their frames to `frames`. */
  send(now: number, frames: Buffer[]): Buffer[] {
    for (const call of this.#unsent) {
      call.sentAt = now
      frames.push(call.request.frame)
      this.#sent.push(call)
    }
    this.#unsent = []
    return frames
  }

  /** The call that an answer belongs to: always the oldest. */
  answered(xid: number): Call {
    const call = this.#sent[this.#head]
    if (call === undefined || call.xid !== xid) {
      const expected = call === undefined ? 'none' : String(call.xid)
      throw new MalformedReplyError(`a ZooKeeper reply came for request ${xid}, the oldest unanswered is ${expected}`)
    }
    this.#head++
    this.#compact()
    if (!call.settled) this.#waiting--
    return call
  }

  /** The oldest unanswered auth. Its answer may overtake those of requests sent before it. */
  answeredAuth(): Call {
    const at = this.#sent.findIndex((call, index) => index >= this.#head && call.isAuth)
    if (at === -1) throw new MalformedReplyError('a ZooKeeper reply came for an auth, none is unanswered')
    const call = this.#sent.splice(at, 1)[0] as Call
    if (!call.settled) this.#waiting--
    return call
  }

  /** Removes and returns everything that was sent. */
  takeSent(): Call[] {
    const calls = this.#sent.slice(this.#head).filter((call) => !call.settled)
    this.#sent = []
    this.#head = 0
    this.#waiting -= calls.length
    return calls
  }

  takeUnsent(): Call[] {
    const calls = this.#unsent
    this.#unsent = []
    this.#waiting -= calls.length
    return calls
  }

  /** The calls whose time is up. A sent call stays in the list, because its answer may still come and must find it. */
  overdue(now: number): Call[] {
    const overdue: Call[] = []
    this.#soonest = Number.POSITIVE_INFINITY
    const judge = (call: Call): boolean => {
      if (call.settled) return false
      if (call.deadline <= now) {
        overdue.push(call)
        return false
      }
      if (call.deadline < this.#soonest) this.#soonest = call.deadline
      return true
    }
    for (let i = this.#head; i < this.#sent.length; i++) judge(this.#sent[i] as Call)
    this.#unsent = this.#unsent.filter(judge)
    this.#waiting -= overdue.length
    return overdue
  }

  #compact(): void {
    if (this.#head === this.#sent.length) {
      this.#sent.length = 0
      this.#head = 0
    } else if (this.#head >= 1_024 && this.#head * 2 >= this.#sent.length) {
      this.#sent.splice(0, this.#head)
      this.#head = 0
    }
  }
}
