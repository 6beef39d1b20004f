/** The statements of the store, as functions: values in, values out. */
import { isSchemaMissing, isVictim, schemaError, toStoreError } from './failure.ts'
import type { Names } from './names.ts'
import { SCHEMA_VERSION, schemaVersion } from './schema.ts'
import type { Session, Statement } from './session.ts'

const VICTIM_TRIES = 5

const NOW = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint"

const STATEMENTS = {
  // The short ways are those of enter_v2 and leave_v2 (see there), as statements of their own: a function around them costs as
  // much as the update itself.
  enterShort: `UPDATE @line SET last = greatest(last + 1, ${NOW}), capacity = $4::bigint, solo_id = $2::uuid, solo_weight = $3::bigint,
    solo_ttl = $5::bigint, solo_lapse = ${NOW} + $5::bigint, solo_at = ${NOW}, solo_data = $6::text, solo_inbox = $7::text
    WHERE name = $1::bytea AND places = 0 AND solo_id IS NULL AND dead_until <= ${NOW} AND watched_until <= ${NOW} RETURNING last`,
  leaveShort: `UPDATE @line SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL
    WHERE name = $1::bytea AND solo_id = $2::uuid AND watched_until <= ${NOW}`,
  enter: 'SELECT @enter_v2($1::bytea, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::boolean)',
  enterAll: "SELECT array_to_string(@enter_all_v2($1::text, $2::text), ';')",
  rename: 'SELECT @rename_v2($1::bytea, $2::uuid, $3::uuid, $4::bigint, $5::text, $6::text)',
  take: 'SELECT @take_v2($1::bytea, $2::bigint, $3::bigint, $4::bigint, $5::bigint, $6::bigint, $7::bigint)',
  leave: 'SELECT @leave_v2($1::bytea, $2::uuid, $3::bigint, $4::bigint)',
  touch: "SELECT array_to_string(@touch_v2($1::text, $2::text), ';', '')",
  break: 'SELECT @break_v2($1::bytea, $2::boolean)',
  swap: 'SELECT s[1], s[2], s[3] FROM @swap_v2($1::bytea, $2::boolean, $3::bigint, $4::text, $5::bigint, $6::text) s',
  sweep: 'SELECT @sweep_v2($1::bigint, $2::integer)',
  list: 'SELECT * FROM @list_v2($1::bytea)',
  poll: 'SELECT @poll_v2($1::text, $2::text)',
  observe: 'SELECT @observe_v2($1::text, $2::bigint)',
  stamps:
    "SELECT encode(name, 'hex'), xmin::text FROM @line WHERE name IN (SELECT decode(h, 'hex') FROM unnest(string_to_array($1::text, ',')) h)",
  notify: 'SELECT pg_notify($1::text, $2::text)',
}

export type StatementName = keyof typeof STATEMENTS

export class Queries {
  readonly #session: Session
  readonly #names: Names
  readonly #statements: Record<StatementName, Statement>

  constructor(session: Session, names: Names) {
    this.#session = session
    this.#names = names
    const prepared = Object.entries(STATEMENTS).map(([name, text]) => {
      const rendered = names.render(text)
      return [name, { name: `${names.channel}.${name}`.slice(-63), text: rendered }]
    })
    this.#statements = Object.fromEntries(prepared) as Record<StatementName, Statement>
  }

  /** One round trip: the rows. */
  run(name: StatementName, values: readonly unknown[]): Promise<unknown[][]> {
    return this.#settle(() => this.#session.run(this.#statements[name], values))
  }

  /** One round trip: how many rows were changed. */
  change(name: StatementName, values: readonly unknown[]): Promise<number> {
    return this.#settle(() => this.#session.change(this.#statements[name], values))
  }

  /** A deadlock's victim did nothing and is sent again. */
  async #settle<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask()
      } catch (error) {
        if (isVictim(error) && tries < VICTIM_TRIES) continue
        throw isSchemaMissing(error) ? await this.#schemaError(error) : toStoreError(error)
      }
    }
  }

  async #schemaError(cause: unknown): Promise<Error> {
    try {
      return schemaError(await schemaVersion(this.#session, this.#names), SCHEMA_VERSION, this.#names, cause)
    } catch (error) {
      return toStoreError(error)
    }
  }
}

/** Names travel as bytes: PostgreSQL's text can't hold a zero. */
export function hex(name: string): string {
  return Buffer.from(name).toString('hex')
}

export function unhex(text: unknown): string {
  return Buffer.from(String(text), 'hex').toString()
}
