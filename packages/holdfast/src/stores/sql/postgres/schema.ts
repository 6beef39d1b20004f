/** The schema: what `setup()` runs, and what `holdfast migrate --print` shows. */
import { type Judge, schemaError } from '../settling.ts'
import { isSchemaMissing, isVictim, toStoreError } from './errors.ts'
import type { Names } from './names.ts'
import {
  BREAK,
  ENTER,
  JOINED,
  LEAVE,
  REWEIGH,
  SCHEMA,
  SEVERAL,
  STEP,
  SWAP,
  SWEEP,
  TAKE,
  TOUCH,
  WATCH,
} from './scripts.generated.ts'
import { makeStatement } from '../session.ts'
import type { PostgresSession } from './session.ts'

/**
 * Raised with every change of tables or functions; the names of the functions carry it too. Those of older versions
 * stay where they are: processes that have not been replaced yet go on with them. Tables may only change in ways that
 * they can live with.
 */
export const SCHEMA_VERSION = 6

const FUNCTIONS = [STEP, ENTER, LEAVE, JOINED, TOUCH, SEVERAL, REWEIGH, BREAK, SWAP, TAKE, SWEEP, WATCH]

/** Everything `setup()` would run, for people and their own migrations. */
export function migration(names: Names): string {
  return `BEGIN;\n${script(names)}\nCOMMIT;\n`
}

/** Sent in one message, several statements are one transaction: none is left open if one of them fails. */
function script(names: Names): string {
  return names.render(
    [
      // Two processes that set up at once would trip over each other's CREATE.
      "SELECT pg_advisory_xact_lock(hashtextextended('holdfast setup @schema', 0));",
      'CREATE SCHEMA IF NOT EXISTS @schema;',
      SCHEMA,
      ...FUNCTIONS,
      `INSERT INTO @meta (version, floor) VALUES (${SCHEMA_VERSION}, 0) ON CONFLICT (one) DO UPDATE SET version ` +
        `= ${SCHEMA_VERSION};`,
    ].join('\n'),
  )
}

/** Makes the schema if it is missing or older; leaves it alone if it fits, and refuses a newer one. */
export async function setUp(session: PostgresSession, names: Names): Promise<void> {
  try {
    await make(session, names)
  } catch (error) {
    throw toStoreError(error)
  }
}

async function make(session: PostgresSession, names: Names): Promise<void> {
  const judge = judgeOf(session, names)
  const found = await judge.version()
  if (found === SCHEMA_VERSION) return
  if (found !== null && found > SCHEMA_VERSION) throw schemaError(judge, found)
  // CREATE SCHEMA asks for a right on the database even when the schema is there.
  const namespace = makeStatement('schema', 'SELECT 1 FROM pg_namespace WHERE nspname = $1')
  const { rows } = await session.run(namespace, [names.schema])
  const sql = script(names)
  await session.script(rows.length === 0 ? sql : sql.replace(/^CREATE SCHEMA .*$/m, ''))
}

/** What errors mean to those who use these tables. */
export function judgeOf(session: PostgresSession, names: Names): Judge {
  return {
    store: 'postgres',
    where: `in schema "${names.schema}"`,
    needed: SCHEMA_VERSION,
    isVictim,
    isSchemaMissing,
    toStoreError,
    version: () => readVersion(session, names),
  }
}

async function readVersion(session: PostgresSession, names: Names): Promise<number | null> {
  try {
    const { rows } = await session.run(makeStatement('version', names.render('SELECT version FROM @meta')), [])
    const [row] = rows
    return row === undefined ? null : Number(row[0])
  } catch (error) {
    if (isSchemaMissing(error)) return null
    throw error
  }
}
