/**
 * Enters and leaves of several lines, on MariaDB as one plain statement (decision 021): a procedure that prepares and
 * carries out the same costs the server three times as much. All of the lines, or none. Where that does not go, the
 * procedures of joined.sql are called; MySQL has only those, since no statement of its that writes can be told to wait
 * for nobody.
 */
import type { Entry } from '../../../contract/driver.ts'
import { answerOf } from '../queries.ts'
import { type Judge, settle } from '../settling.ts'
import { enterText, fitting, leaveText, type Tables } from './batch.ts'
import { errnoOf } from './errors.ts'
import type { Names } from './names.ts'
import type { MysqlQueries } from './queries.ts'
import { judgeOf } from './schema.ts'
import type { MysqlSession } from './session.ts'

/** Somebody has locked one of the lines (1205, 1213, 1020), or is in it: batch.ts raises 1690, out of range. */
const TAKEN = new Set([1205, 1213, 1020, 1690])

export class BatchStatements {
  readonly #session: MysqlSession
  readonly #judge: Judge
  readonly #tables: Tables
  readonly #queries: MysqlQueries
  #isMariadb: Promise<boolean> | null = null

  constructor(session: MysqlSession, names: Names, queries: MysqlQueries) {
    this.#session = session
    this.#judge = judgeOf(session, names)
    this.#tables = { line: names.render('@line'), meta: names.render('@meta') }
    this.#queries = queries
  }

  async enterJoined(entries: readonly Entry[]): Promise<string | null> {
    if (!(await this.#isPlain(entries))) return answerOf(await this.#queries.ask('enterJoined', { entries }))
    const token = await this.#write(enterText(this.#tables, entries), 1)
    return token === null ? answerOf(await this.#queries.ask('enterEach', { entries })) : `*:${token}`
  }

  async leaveJoined(places: readonly Entry[]): Promise<string | null> {
    if (!(await this.#isPlain(places))) return answerOf(await this.#queries.ask('leaveJoined', { places }))
    // A line that was swept is in nobody's way, and is not counted: each asks by itself.
    const left = await this.#write(leaveText(this.#tables, places), places.length)
    return left === null ? answerOf(await this.#queries.ask('leaveEach', { places })) : '*:1'
  }

  async #isPlain(entries: readonly Entry[]): Promise<boolean> {
    this.#isMariadb ??= this.#askServer()
    return fitting(entries) > 0 && (await this.#isMariadb)
  }

  async #askServer(): Promise<boolean> {
    try {
      const { rows } = await this.#session.run({ name: 'version', text: 'SELECT VERSION()' }, [])
      return String(rows[0]?.[0]).includes('MariaDB')
    } catch {
      // Asked again next time; what is wrong with the server the statement itself will say.
      this.#isMariadb = null
      return false
    }
  }

  /** The id that the statement has made; null: it changed nothing, or fewer rows than `least`. */
  async #write(text: string, least: number): Promise<string | null> {
    const { rows, changed } = await settle(async () => {
      try {
        return await this.#session.run({ name: 'joined', text }, [])
      } catch (error) {
        if (TAKEN.has(errnoOf(error))) return { rows: [], changed: 0 }
        throw error
      }
    }, this.#judge)
    return changed < least ? null : (rows[0]?.[0] as string)
  }
}
