/** The schema: what `setup()` runs, and what `holdfast migrate --print` shows. */
import { type Judge, schemaError } from '../settling.ts'
import { isSchemaMissing, isVictim, toStoreError } from './errors.ts'
import type { Names } from './names.ts'
import {
  BELL,
  BREAK,
  ENTER,
  GROW,
  JOINED,
  LEAVE,
  LOCK,
  LOOK,
  REWEIGH,
  SCHEMA,
  STEP,
  SWAP,
  SWEEP,
  TAKE,
  TOUCH,
} from './scripts.generated.ts'
import { makeStatement, type Reply } from '../session.ts'
import type { MysqlSession } from './session.ts'

/**
 * Raised with every change of tables or procedures; the names of the procedures carry it too. Those of older versions
 * stay where they are: processes that have not been replaced yet go on with them. Tables may only change in ways that
 * they can live with.
 */
export const SCHEMA_VERSION = 6

const PROCEDURES = [STEP, ENTER, LEAVE, JOINED, TOUCH, REWEIGH, BREAK, SWAP, TAKE, SWEEP, LOOK, BELL, LOCK, GROW]

/** The tables, which may be made again and again; then what may not be made anew while somebody uses it. */
function statements(names: Names): { readonly tables: string[]; readonly rest: string[] } {
  const split = (sql: string): string[] =>
    sql
      .split(/^;;$/m)
      .map((part) => names.render(part).trim())
      .filter((part) => part !== '')
  const procedures = PROCEDURES.flatMap(split).flatMap((create) => {
    const name = /^CREATE PROCEDURE (`\w+`)/m.exec(create)?.[1]
    // MySQL has no CREATE OR REPLACE for procedures.
    return [`DROP PROCEDURE IF EXISTS ${name}`, create]
  })
  const version = names.render(
    `INSERT INTO @meta (one, version, floor) VALUES (1, ${SCHEMA_VERSION}, 0) ON DUPLICATE KEY UPDATE version = ` +
      `${SCHEMA_VERSION}`,
  )
  // Of version 2: processes that still lock there and those that lock slots would not see each other, so the former are
  // refused.
  const grown = [names.render(`CALL @grow_v${SCHEMA_VERSION}()`)]
  const retired = names.render('DROP TABLE IF EXISTS @tx')
  return { tables: split(SCHEMA), rest: [...procedures, ...grown, retired, version] }
}

/** Everything `setup()` would run, as the `mysql` program takes it. */
export function migration(names: Names): string {
  const { tables, rest } = statements(names)
  return `DELIMITER ;;\n${[...tables, ...rest].join('\n;;\n')}\n;;\nDELIMITER ;\n`
}

/** Makes the schema if it is missing or older; leaves it alone if it fits, and refuses a newer one. */
export async function setUp(session: MysqlSession, names: Names): Promise<void> {
  try {
    await make(session, names)
  } catch (error) {
    throw toStoreError(error)
  }
}

async function make(session: MysqlSession, names: Names): Promise<void> {
  const judge = judgeOf(session, names)
  const found = await judge.version()
  if (found === SCHEMA_VERSION) return
  if (found !== null && found > SCHEMA_VERSION) throw schemaError(judge, found)
  // Definitions are not transactional here: whoever comes second would drop a procedure that somebody calls already. A
  // table that is locked for writing would not do, as every statement that defines something ends the lock.
  const lock = `'holdfast.setup.${names.prefix}'`
  await session.script(async (run) => {
    await run(`DO GET_LOCK(${lock}, 30)`)
    const { tables, rest } = statements(names)
    for (const sql of tables) await run(sql)
    // Who waited for the lock finds the work done, and the procedures in use. Asked on the same connection: there may
    // be only one.
    const now = await readVersion(run, names)
    if (now === null || now < SCHEMA_VERSION) for (const sql of rest) await run(sql)
    await run(`DO RELEASE_LOCK(${lock})`)
  })
}

/** What errors mean to those who use these tables. */
export function judgeOf(session: MysqlSession, names: Names): Judge {
  return {
    store: 'mysql',
    where: `"${names.prefix}_…"`,
    needed: SCHEMA_VERSION,
    isVictim,
    isSchemaMissing,
    toStoreError,
    version: () => readVersion((sql) => session.run(makeStatement('version', sql), []), names),
  }
}

async function readVersion(run: (sql: string) => Promise<Reply>, names: Names): Promise<number | null> {
  try {
    const { rows } = await run(names.render('SELECT version FROM @meta WHERE one = 1'))
    const [row] = rows
    return row === undefined ? null : Number(row[0])
  } catch (error) {
    if (isSchemaMissing(error)) return null
    throw error
  }
}
