/** The names of the tables and procedures, and how they get into the SQL: quoted, and checked before that. */
import { shown } from '../../../contract/check.ts'
import { UsageError } from '../../../contract/errors.ts'

export interface Names {
  readonly prefix: string
  /** Puts the names into a script: @name, except @hf_name, which is a variable of the session. */
  render(sql: string): string
}

export function makeNames(prefix: string): Names {
  // Plain names only, so that quoting can't be got wrong; with our own endings they stay within 64 characters.
  if (typeof prefix !== 'string' || !/^[A-Za-z_][A-Za-z0-9_]{0,29}$/.test(prefix)) {
    throw new UsageError(
      `prefix must be 1 to 30 letters, digits and underscores, not beginning with a digit, given ${shown(prefix)}`,
    )
  }
  return { prefix, render: (sql) => sql.replace(/@(?!hf_)(\w+)/g, (_, name: string) => `\`${prefix}_${name}\``) }
}
