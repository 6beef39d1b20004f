/** Keeps a session in regular contact with its servers, and knows how far it may be believed in. */
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
  /** When the latest answer of the leader on this connection was asked for. */
  #proven: Instant | null = null
  #timer: NodeJS.Timeout | null = null
  #stopped = false

  constructor(client: ZooKeeperClient, runtime: Pick<Runtime, 'now' | 'wallNow'>) {
    this.#client = client
    this.#runtime = runtime
  }

  /** A server has taken the session on. */
  connected(): void {
    const { session } = this.#client
    this.#proven = null
    if (session !== null) this.#contacts.connected(session.lastAnsweredSentAt)
    if (this.#timer === null) this.#setTimer()
  }

  /** Something sent then was answered, and the leader took part in it. */
  answered(asked: Instant): void {
    const { session } = this.#client
    if (session === null) return
    this.#contacts.answered(asked.monoMs, session.negotiatedMs)
    if (this.#proven === null || asked.monoMs > this.#proven.monoMs) this.#proven = asked
  }

  /** What was answered so lately that to ask again would tell nothing new; null: nothing was. */
  justAnswered(now: Instant): Instant | null {
    const [proven, session] = [this.#proven, this.#client.session]
    if (proven === null || session === null) return null
    return now.monoMs - proven.monoMs < lateMs(session.negotiatedMs) ? proven : null
  }

  /**
   * The `since` of a place, by an answer to what was asked for then. Core believes in it for a ttl from there: it is
   * moved back by as much as the session does not vouch for.
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
    // After an expiry the next session starts it again.
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
      // Nobody answered: the client itself sees to that.
      if (error instanceof StoreError || error instanceof ClosedError) return
      throw error
    }
    this.answered(asked)
  }
}
