/** Keeps a session in regular contact with its servers, and knows how far a holder may trust it. */
import { ClosedError, StoreError } from '../../contract/errors.ts'
import type { Runtime } from '../../contract/runtime.ts'
import { instant } from '../../contract/validity.ts'
import type { Entry, Instant } from '../../contract/driver.ts'
import type { ZooKeeperClient } from '../../clients/zookeeper/index.ts'
import { believableMs, cadenceMs, Contacts, lateMs } from './contacts.ts'

export class SessionHeartbeat {
  readonly #client: ZooKeeperClient
  readonly #runtime: Pick<Runtime, 'now' | 'wallNow'>
  readonly #contacts = new Contacts()
  /** When the request was sent for the latest answer of the leader on this connection. */
  #proven: Instant | null = null
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(client: ZooKeeperClient, runtime: Pick<Runtime, 'now' | 'wallNow'>) {
    this.#client = client
    this.#runtime = runtime
  }

  /** A server has accepted the session. */
  connected(): void {
    const { session } = this.#client
    this.#proven = null
    if (session !== null) this.#contacts.connected(session.lastAnsweredSentAt)
    if (this.#timer === null) this.#setTimer()
  }

  /** A request sent then was answered, and the leader took part in the answer. */
  answered(asked: Instant): void {
    const { session } = this.#client
    if (session === null) return
    this.#contacts.answered(asked.monoMs, session.negotiatedMs)
    if (this.#proven === null || asked.monoMs > this.#proven.monoMs) this.#proven = asked
  }

  /** The request time of an answer that is so recent that asking again would show nothing new; null: there is none. */
  justAnswered(now: Instant): Instant | null {
    const [proven, session] = [this.#proven, this.#client.session]
    if (proven === null || session === null) return null
    return now.monoMs - proven.monoMs < lateMs(session.negotiatedMs) ? proven : null
  }

  /**
   * The `since` of a place, by an answer to a request of that time. Core trusts the place for a ttl from there, so it
   * is moved back by as much of the session as is not certain.
   */
  since(asked: Instant, entry: Entry, sessionMs: number): Instant {
    const until = Math.min(asked.monoMs + believableMs(sessionMs), this.#contacts.livesUntil(asked.monoMs, sessionMs))
    const missingMs = Math.max(0, asked.monoMs + entry.ttlMs - until)
    return { monoMs: asked.monoMs - missingMs, wallMs: asked.wallMs - missingMs }
  }

  stop(): void {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #setTimer(): void {
    const { session } = this.#client
    this.#timer = null
    // After an expiry the next session starts the heartbeat again.
    if (session === null || this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#setTimer()
      void this.#beat()
    }, cadenceMs(session.negotiatedMs))
    this.#timer.unref()
  }

  async #beat(): Promise<void> {
    if (this.#client.state !== 'connected') return
    const asked = instant(this.#runtime)
    try {
      await this.#client.sync('/')
    } catch (error) {
      // No answer: the client itself handles that.
      if (error instanceof StoreError || error instanceof ClosedError) return
      throw error
    }
    this.answered(asked)
  }
}
