/** The statements of the store, as functions: values in, values out. */
import { createHash } from 'node:crypto'
import { type Judge, settle } from '../sql/settling.ts'
import type { Names } from './names.ts'
import { judgeOf } from './schema.ts'
import type { Session, Statement } from './session.ts'

const NOW = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint"

const STATEMENTS = {
  // The short ways are those of enter_v3 and leave_v3 (see there), as statements of their own: a function around them costs as
  // much as the update itself.
  enterShort: `UPDATE @line SET last = greatest(last + 1, ${NOW}), capacity = $4::bigint, solo_id = $2::uuid, solo_weight = $3::bigint,
    solo_ttl = $5::bigint, solo_lapse = ${NOW} + $5::bigint, solo_at = ${NOW}, solo_data = $6::text, solo_inbox = $7::text
    WHERE name = $1::bytea AND places = 0 AND solo_id IS NULL AND dead_until <= ${NOW} AND watched_until <= ${NOW} RETURNING last`,
  leaveShort: `UPDATE @line SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL
    WHERE name = $1::bytea AND solo_id = $2::uuid AND watched_until <= ${NOW}`,
  enter: 'SELECT @enter_v3($1::bytea, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::boolean)',
  enterAll: "SELECT array_to_string(@enter_all_v3($1::text, $2::text), ';')",
  rename: 'SELECT @rename_v3($1::bytea, $2::uuid, $3::uuid, $4::bigint, $5::text, $6::text)',
  take: 'SELECT @take_v3($1::bytea, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint)',
  leave: 'SELECT @leave_v3($1::bytea, $2::uuid, $3::bigint, $4::bigint)',
  touch: "SELECT array_to_string(@touch_v3($1::text, $2::text), ';', '')",
  break: 'SELECT @break_v3($1::bytea, $2::boolean)',
  swap: 'SELECT s[1], s[2], s[3] FROM @swap_v3($1::bytea, $2::boolean, $3::bigint, $4::text, $5::bigint, $6::text) s',
  sweep: 'SELECT @sweep_v3($1::bigint, $2::integer)',
  list: 'SELECT * FROM @list_v3($1::bytea)',
  poll: 'SELECT @poll_v3($1::text, $2::text)',
  observe: 'SELECT @observe_v3($1::text, $2::bigint)',
  stamps:
    "SELECT encode(name, 'hex'), xmin::text FROM @line WHERE name IN (SELECT decode(h, 'hex') FROM unnest(string_to_array($1::text, ',')) h)",
  notify: 'SELECT pg_notify($1::text, $2::text)',
}

export type StatementName = keyof typeof STATEMENTS

export class Queries {
  readonly #session: Session
  readonly #judge: Judge
  readonly #statements: Record<StatementName, Statement>

  constructor(session: Session, names: Names) {
    this.#session = session
    this.#judge = judgeOf(session, names)
    const prepared = Object.entries(STATEMENTS).map(([name, text]) => {
      const rendered = names.render(text)
      // Named after its text: a connection behind a pooler may have another process's, which then has to be the same statement.
      const digest = createHash('sha256').update(rendered).digest('hex').slice(0, 24)
      return [name, { name: `holdfast.${name}.${digest}`, text: rendered }]
    })
    this.#statements = Object.fromEntries(prepared) as Record<StatementName, Statement>
  }

  /** One round trip: the rows. */
  run(name: StatementName, values: readonly unknown[]): Promise<unknown[][]> {
    return settle(() => this.#session.run(this.#statements[name], values), this.#judge)
  }

  /** One round trip: how many rows were changed. */
  change(name: StatementName, values: readonly unknown[]): Promise<number> {
    return settle(() => this.#session.change(this.#statements[name], values), this.#judge)
  }
}
