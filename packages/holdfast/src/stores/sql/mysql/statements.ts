/**
 * The prepared statements of one connection. `mysql2` would keep them, too: but its `execute` makes a second command,
 * and a key as long as the statement, each time that a statement is used.
 */
import type { Connection, PrepareStatementInfo, QueryError } from 'mysql2'
import type { Value } from './reply.ts'

type Done = (error: QueryError | null, result?: unknown) => void

export class Statements {
  readonly #connection: Connection
  readonly #onPrepared: () => void
  readonly #prepared = new Map<string, PrepareStatementInfo>()

  /** `onPrepared`: the first of two steps was answered. After a stop of this process the second is only sent now. */
  constructor(connection: Connection, onPrepared: () => void) {
    this.#connection = connection
    this.#onPrepared = onPrepared
  }

  /** One round trip; the first use of a text takes one more. Rows come as the connection is set. */
  execute(sql: string, values: Value[], done: Done): void {
    const prepared = this.#prepared.get(sql)
    if (prepared !== undefined) {
      prepared.execute(values, done)
      return
    }
    this.#connection.prepare(sql, (error, statement) => {
      if (error !== null) {
        done(error)
        return
      }
      this.#prepared.set(sql, statement)
      this.#onPrepared()
      statement.execute(values, done)
    })
  }
}
