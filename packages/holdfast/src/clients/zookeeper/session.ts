/** One session: its name at the servers, and until when the client may trust it. */
import type { Grant } from './handshake.ts'

/**
 * A server may grant more than the client asked for, when its shortest session is longer; the client believes at most
 * this much of it. A damaged answer can grant 24 days: a client that believed the answer would send no heartbeat for 8
 * days, and would wait as long for a server to take its session on.
 */
const UNASKED_MS_MAX = 10_000

/** What a caller may know of the session. All instants are of the client's own monotonic clock. */
export interface SessionView {
  readonly id: bigint
  /** The session time that the client goes by: what the server granted, within what a server can grant. */
  readonly negotiatedMs: number
  /** The session time in the server's own words: shows the server's limits. */
  readonly grantedMs: number
  /** When the latest request or heartbeat was sent whose answer proves enough (the option heartbeat). */
  readonly lastAnsweredSentAt: number
  /** From here on the servers may have ended the session. Compare the clock with it, because a timer can be late. */
  readonly deadline: number
}

export class Session implements SessionView {
  readonly id: bigint
  readonly #password: Buffer
  readonly #askedMs: number
  #grantedMs: number
  #lastAnsweredSentAt: number

  constructor(grant: Grant, askedMs: number, sentAt: number) {
    this.id = grant.sessionId
    this.#password = grant.password
    this.#askedMs = askedMs
    this.#grantedMs = grant.timeoutMs
    this.#lastAnsweredSentAt = sentAt
  }

  get negotiatedMs(): number {
    return Math.min(this.#grantedMs, Math.max(this.#askedMs, UNASKED_MS_MAX))
  }

  /** In the server's words. */
  get grantedMs(): number {
    return this.#grantedMs
  }

  get lastAnsweredSentAt(): number {
    return this.#lastAnsweredSentAt
  }

  get deadline(): number {
    return this.#lastAnsweredSentAt + this.negotiatedMs
  }

  /**
   * A request sent at `sentAt` was answered. The server counts from when it received that request, which is later than
   * the sending and earlier than the answer: only the time of sending is on the safe side.
   */
  answered(sentAt: number): void {
    if (sentAt > this.#lastAnsweredSentAt) this.#lastAnsweredSentAt = sentAt
  }

  /** Another server took the session over, perhaps with another session time. */
  moved(grant: Grant): void {
    this.#grantedMs = grant.timeoutMs
  }

  /** What proves to a server that the session is ours. */
  proof(): { readonly id: bigint; readonly password: Buffer } {
    return { id: this.id, password: this.#password }
  }
}
