/** The statements of the store, as functions: values in, values out. */
import { answerWithin } from '../sql/deadline.ts'
import { isSchemaMissing, isVictim, schemaError, toStoreError } from './failure.ts'
import type { Names } from './names.ts'
import { SCHEMA_VERSION, schemaVersion } from './schema.ts'
import type { Session, Statement } from './session.ts'

const VICTIM_TRIES = 5

const STATEMENTS = {
  enter: 'SELECT @enter_v1($1::bytea, $2::uuid, $3::bigint, $4::bigint, $5::bigint, $6::text, $7::text, $8::boolean)',
  leave: 'SELECT @leave_v1($1::bytea, $2::uuid, $3::bigint, $4::bigint)',
  touch: "SELECT array_to_string(@touch_v1($1::text, $2::text), ';', '')",
  break: 'SELECT @break_v1($1::bytea, $2::boolean)',
  swap: 'SELECT s[1], s[2], s[3] FROM @swap_v1($1::bytea, $2::boolean, $3::bigint, $4::text, $5::bigint, $6::text) s',
  sweep: 'SELECT @sweep_v1($1::bigint, $2::integer)',
  list: 'SELECT * FROM @list_v1($1::bytea)',
  poll: 'SELECT @poll_v1($1::text, $2::text)',
  observe: 'SELECT @observe_v1($1::text, $2::bigint)',
  stamps:
    "SELECT encode(name, 'hex'), xmin::text FROM @line WHERE name IN (SELECT decode(h, 'hex') FROM unnest(string_to_array($1::text, ',')) h)",
  notify: 'SELECT pg_notify($1::text, $2::text)',
}

export type StatementName = keyof typeof STATEMENTS

export class Queries {
  readonly #session: Session
  readonly #names: Names
  readonly #timeoutMs: number
  readonly #statements: Record<StatementName, Statement>

  constructor(session: Session, names: Names, timeoutMs: number) {
    this.#session = session
    this.#names = names
    this.#timeoutMs = timeoutMs
    const prepared = Object.entries(STATEMENTS).map(([name, text]) => {
      const rendered = names.render(text)
      return [name, { name: `${names.channel}.${name}`.slice(-63), text: rendered }]
    })
    this.#statements = Object.fromEntries(prepared) as Record<StatementName, Statement>
  }

  /** One round trip. A deadlock's victim did nothing and is sent again. */
  async run(name: StatementName, values: readonly unknown[]): Promise<unknown[][]> {
    for (let tries = 1; ; tries++) {
      try {
        return await answerWithin(this.#session.run(this.#statements[name], values), this.#timeoutMs, 'postgres')
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
