/** What the driver needs of a client library: statements in autocommit, scripts, and a channel to hear on. Every call settles in time. */

export interface Statement {
  /** The name it is prepared under; one per text. */
  readonly name: string
  readonly text: string
}

/** What becomes of a subscription. */
export interface Hearing {
  heard(channel: string, payload: string): void
  /** It is in force (again): what was said before may have been missed. */
  opened(): void
  /** It is not in force now; the session tries again by itself. */
  lost(): void
}

export interface Session {
  /** One statement, one round trip; rows as arrays. Rejects with the library's own errors. */
  run(statement: Statement, values: readonly unknown[]): Promise<unknown[][]>
  /** The same, for a statement without rows: how many it changed. */
  change(statement: Statement, values: readonly unknown[]): Promise<number>
  /** Several statements without parameters, as one transaction. */
  script(sql: string): Promise<void>
  /** Hears on these channels until stopped; null where the session has no connection for it. */
  hear(channels: readonly string[], hearing: Hearing): (() => Promise<void>) | null
  close(): Promise<void>
}
