/** What the dialect needs of `pg` or `postgres` beyond statements: scripts, and channels to hear on. */
import type { Session } from '../session.ts'

/** What becomes of a subscription. */
export interface Hearing {
  heard(channel: string, payload: string): void
  /** It is in force (again): what was said before may have been missed. */
  opened(): void
  /** It is not in force now; the session tries again by itself. */
  lost(): void
}

export interface PostgresSession extends Session {
  /** Several statements without parameters, as one transaction. */
  script(sql: string): Promise<void>
  /** Hears on these channels until stopped; null where the session has no connection for it. */
  hear(channels: readonly string[], hearing: Hearing): (() => Promise<void>) | null
}
