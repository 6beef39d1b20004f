/**
 * What the driver needs of a client library: statements in autocommit, each one round trip. Every call settles in time.
 */
import { createHash } from 'node:crypto'

export interface Statement {
  /** The name it is prepared under; one per text. */
  readonly name: string
  readonly text: string
}

/**
 * Named after its text: two users of one connection, or two processes behind a pooler, have one name for one statement
 * only.
 */
export function makeStatement(name: string, text: string): Statement {
  return { name: `holdfast.${name}.${createHash('sha256').update(text).digest('hex').slice(0, 24)}`, text }
}

/**
 * A session of the server that is ours for as long as it is open: locks of a session are let go where they were taken.
 */
export interface Seat {
  readonly isOpen: boolean
}

export interface Reply {
  /** As arrays; of a procedure those of its first result. An update of MySQL answers the id that it has made. */
  readonly rows: unknown[][]
  /** How many rows a statement without rows has changed. */
  readonly changed: number
  /** null: of a pool that is not ours, or of a dialect that has no use for it. */
  readonly seat: Seat | null
}

export interface Session {
  /** Rejects with the library's own errors. By that seat, if it is given and still open. */
  run(statement: Statement, values: readonly unknown[], seat?: Seat): Promise<Reply>
  close(): Promise<void>
}
