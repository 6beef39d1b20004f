/** One session: its name at the servers, and until when the client may trust it. */
import type { Grant } from './handshake.ts'

/** What a caller may know of the session. All instants are of the client's own monotonic clock. */
export interface SessionView {
  readonly id: bigint
  /** The session time that the server granted. */
  readonly negotiatedMs: number
  /** When the latest request or heartbeat was sent whose answer proves enough (the option heartbeat). */
  readonly lastAnsweredSentAt: number
  /** From here on the servers may have ended the session. Compare the clock with it, because a timer can be late. */
  readonly deadline: number
}

export class Session implements SessionView {
  readonly id: bigint
  readonly #password: Buffer
  #negotiatedMs: number
  #lastAnsweredSentAt: number

  constructor(grant: Grant, sentAt: number) {
    this.id = grant.sessionId
    this.#password = grant.password
    this.#negotiatedMs = grant.timeoutMs
    this.#lastAnsweredSentAt = sentAt
  }

  get negotiatedMs(): number {
    return this.#negotiatedMs
  }

  get lastAnsweredSentAt(): number {
    return this.#lastAnsweredSentAt
  }

  get deadline(): number {
    return this.#lastAnsweredSentAt + this.#negotiatedMs
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
    this.#negotiatedMs = grant.timeoutMs
  }

  /** What proves to a server that the session is ours. */
  proof(): { readonly id: bigint; readonly password: Buffer } {
    return { id: this.id, password: this.#password }
  }
}
