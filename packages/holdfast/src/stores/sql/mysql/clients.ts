/** The client objects that a user may give, typed by the members that are called: no package's types are needed. */

/** How answers are to come; what the pool was told otherwise is for its owner's own queries. */
export const AS_SENT = { rowsAsArray: true, nestTables: false, typeCast: true } as const

type MysqlQuery = { readonly sql: string } & typeof AS_SENT

/** The members of a `mysql2` connection that we call. */
export interface MysqlConnection {
  execute(options: MysqlQuery & { values: (string | number | Buffer | null)[] }): Promise<unknown[]>
  query(options: MysqlQuery): Promise<unknown[]>
  release(): void
  destroy(): void
  /** What it wraps, if it does. */
  readonly connection?: object
}

/** The members of a promise pool of `mysql2` that we call. */
export interface MysqlPromisePool {
  getConnection(): Promise<MysqlConnection>
}

/** A pool of `mysql2/promise`, or one of `mysql2` itself. */
export type MysqlPool = MysqlPromisePool | { promise(): MysqlPromisePool }
