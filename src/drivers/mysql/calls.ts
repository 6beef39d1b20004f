/** The procedures of the store, and the two statements that do without: values in, a reply out. */
import type { Entry } from '../../driver.ts'
import { US } from '../sql/place.ts'
import { type Judge, settle } from '../sql/settling.ts'
import type { Names } from './names.ts'
import type { Reply, Seat, Value } from './reply.ts'
import { judgeOf, SCHEMA_VERSION } from './schema.ts'
import type { MysqlSession } from './session.ts'

const NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"

// The short ways are those of join_v2 and leave_v2 (see there), as statements of their own: a procedure around them, with its
// transaction and its result set, costs more than the update itself. The token comes back as the statement's insert id.
const ENTER_SHORT = `UPDATE @line SET last = LAST_INSERT_ID(GREATEST(last + 1, ${NOW})), capacity = ?, changes = changes + 1,
  solo_id = ?, solo_weight = ?, solo_ttl = ?, solo_lapse = ${NOW} + ?, solo_at = ${NOW}, solo_data = ?
  WHERE name = ? AND places = 0 AND solo_id IS NULL AND dead_until <= ${NOW}`
const LEAVE_SHORT =
  'UPDATE @line SET solo_id = NULL, solo_data = NULL, changes = changes + 1 WHERE name = ? AND solo_id = ?'

export class Calls {
  readonly #session: MysqlSession
  readonly #names: Names
  readonly #judge: Judge
  readonly #texts = new Map<string, string>()
  readonly #enterShort: string
  readonly #leaveShort: string

  constructor(session: MysqlSession, names: Names) {
    this.#session = session
    this.#names = names
    this.#judge = judgeOf(session, names)
    this.#enterShort = names.render(ENTER_SHORT)
    this.#leaveShort = names.render(LEAVE_SHORT)
  }

  /** The call of a procedure with so many arguments. */
  text(name: string, count: number): string {
    let sql = this.#texts.get(name)
    if (sql === undefined) {
      sql = this.#names.render(
        `CALL @${name}_v${SCHEMA_VERSION}(${Array.from({ length: count }, () => '?').join(', ')})`,
      )
      this.#texts.set(name, sql)
    }
    return sql
  }

  /** One round trip. */
  call(name: string, values: Value[], seat?: Seat): Promise<Reply> {
    return this.#settle(this.text(name, values.length), values, seat)
  }

  /** The token; null: it was not the short way. */
  async enterShort({ line, id, weight, capacity, ttlMs, data }: Entry): Promise<bigint | null> {
    const ttl = us(ttlMs)
    const values = [capacity, Buffer.from(id, 'hex'), weight, ttl, ttl, data, Buffer.from(line)]
    const { changed, insertId } = await this.#settle(this.#enterShort, values)
    return changed === 1 ? BigInt(insertId) : null
  }

  async leaveShort(line: Buffer, id: Buffer): Promise<boolean> {
    return (await this.#settle(this.#leaveShort, [line, id])).changed === 1
  }

  #settle(sql: string, values: Value[], seat?: Seat): Promise<Reply> {
    return settle(() => this.#session.run(sql, values, seat), this.#judge)
  }
}

/** As text: a client library would send a number as a double. */
export function us(ms: number): string {
  return String(Math.round(ms * US))
}
