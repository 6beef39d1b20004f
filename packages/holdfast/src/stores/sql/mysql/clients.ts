/** The client objects that a user may give, typed by the members that are called: no package's types are needed. */

/** The members of a `mysql2` connection that we call. */
export interface MysqlConnection {
  execute(options: {
    sql: string
    values: (string | number | Buffer | null)[]
    rowsAsArray: boolean
  }): Promise<unknown[]>
  query(options: { sql: string; rowsAsArray: boolean }): Promise<unknown[]>
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
