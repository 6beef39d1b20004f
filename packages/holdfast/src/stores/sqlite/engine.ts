/** The seam to SQLite itself: what the driver calls of `node:sqlite`, or of `libsql` if Node has none. */
import { MissingClientError, UsageError } from '../../contract/errors.ts'
import { loadPeer } from '../shared/peer.ts'
import { isBusy } from './errors.ts'

/** What is bound and read. Every number of ours stays below 2^53, so a double carries it exactly. */
export type Value = string | number | null
export type Row = Readonly<Record<string, unknown>>

/**
 * Made once and used again. A bound limit is written `LIMIT +?`: for newer SQLites a bare `LIMIT ?` is part of the
 * plan, and they prepare the statement again whenever it is bound (measured: 19 us instead of 4.5).
 */
export interface Statement {
  run(...values: Value[]): { readonly changes: number | bigint }
  get(...values: Value[]): unknown
  all(...values: Value[]): unknown[]
}

/** An open file. All calls are synchronous, and throw what the engine throws: see errors.ts. */
export interface Engine {
  exec(sql: string): unknown
  prepare(sql: string): Statement
  close(): unknown
}

/** What opens the file: Node's own module, or the package libsql. */
export type EngineName = 'node:sqlite' | 'libsql'

/** Opens a file, and creates an empty one if there is none. */
export type OpenEngine = (path: string) => Engine

/**
 * How long SQLite itself may sleep on a lock, inside a call that blocks the event loop. Not at all: a transaction of
 * ours takes some tens of microseconds, and asking again asynchronously gave as many hand-overs as naps of 1 or 2 ms.
 */
export const BUSY_TIMEOUT_MS = 0

type Database = new (path: string) => Engine

/** null: this Node has none, or the package is not installed. */
const LOADERS: Record<EngineName, () => OpenEngine | null> = {
  'node:sqlite': () => {
    const builtin = process.getBuiltinModule('node:sqlite') as { readonly DatabaseSync: Database } | undefined
    return builtin === undefined ? null : (path) => new builtin.DatabaseSync(path)
  },
  libsql: () => {
    const Database = loadLibsql()
    return Database === null ? null : (path) => new LibsqlEngine(new Database(path))
  },
}

/** Loads the engine that was asked for, or the first that exists. */
export async function loadEngine(asked: EngineName | undefined): Promise<OpenEngine> {
  const names: EngineName[] = asked === undefined ? ['node:sqlite', 'libsql'] : [asked]
  for (const name of names) {
    const open = LOADERS[name]()
    if (open !== null) return open
  }
  if (asked === 'node:sqlite') {
    throw new UsageError(`this Node ${process.versions.node} has no node:sqlite; 22.13 and later have it`)
  }
  throw new MissingClientError(
    `the SQLite store needs the package libsql on Node ${process.versions.node}, which has no node:sqlite; ` +
      'install it (npm install libsql@0.5.29), or use Node 22.13 or later',
  )
}

/** null: the package is not installed, or the binary package that it loads for this platform is not. */
function loadLibsql(): Database | null {
  try {
    return loadPeer('libsql') as Database
  } catch (error) {
    const isAbsent = error instanceof MissingClientError || (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND'
    if (!isAbsent) throw error
    return null
  }
}

/**
 * Ends a transaction that failed half-way. Never throws, so that what failed first is what callers are told. False: not
 * even that is possible, the file is damaged.
 */
export function rollBack(engine: Engine): boolean {
  try {
    engine.exec('ROLLBACK')
    return true
  } catch (error) {
    // A full disk or a failed write has made SQLite roll back by itself.
    return error instanceof Error && error.message.includes('no transaction is active')
  }
}

/** libsql, with statements that survive an error. */
class LibsqlEngine implements Engine {
  readonly #database: Engine

  constructor(database: Engine) {
    this.#database = database
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  prepare(sql: string): Statement {
    return new LibsqlStatement(this.#database, sql)
  }

  close(): void {
    this.#database.close()
  }
}

/**
 * A libsql statement that has failed reports the same error ever after: A's call fails, and B's sound call fails with
 * A's error. So the statement is prepared anew. But not if the file was busy: a BEGIN that waits counts as running
 * until it is used again or garbage-collected, and no COMMIT goes through meanwhile.
 */
class LibsqlStatement implements Statement {
  readonly #database: Engine
  readonly #sql: string
  #statement: Statement | null

  constructor(database: Engine, sql: string) {
    this.#database = database
    this.#sql = sql
    this.#statement = database.prepare(sql)
  }

  run(...values: Value[]): { readonly changes: number | bigint } {
    return this.#use((statement) => statement.run(...values))
  }

  get(...values: Value[]): unknown {
    return this.#use((statement) => statement.get(...values))
  }

  all(...values: Value[]): unknown[] {
    return this.#use((statement) => statement.all(...values))
  }

  #use<T>(call: (statement: Statement) => T): T {
    this.#statement ??= this.#database.prepare(this.#sql)
    try {
      return call(this.#statement)
    } catch (error) {
      if (!isBusy(error)) this.#statement = null
      throw error
    }
  }
}
