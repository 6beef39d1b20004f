/** The names of the tables, functions and channels, and how they get into the SQL: quoted, and checked before that. */
import { UsageError } from '../../../contract/errors.ts'
import { shown } from '../../../contract/check.ts'

export interface Names {
  readonly schema: string
  /** A notification here carries the name, in hex, of a line that somebody observes. */
  readonly channel: string
  /** Puts the names into a script: @name, @bare(name), @channel. */
  render(sql: string): string
}

export function makeNames(schema: string, prefix: string): Names {
  checkIdentifier('schema', schema)
  checkIdentifier('prefix', prefix)
  const channel = `${prefix}.${schema}`
  return {
    schema,
    channel,
    render: (sql) =>
      sql.replace(/@(bare\((\w+)\)|\w+)/g, (_, name: string, bare: string | undefined) => {
        if (name === 'channel') return `'${channel}'`
        if (name === 'schema') return `"${schema}"`
        return bare === undefined ? `"${schema}"."${prefix}_${name}"` : `"${prefix}_${bare}"`
      }),
  }
}

/** Plain names only, so that quoting can't be got wrong; with our own endings they stay within 63 bytes. */
function checkIdentifier(what: string, name: unknown): void {
  if (typeof name !== 'string' || !/^[A-Za-z_][A-Za-z0-9_]{0,29}$/.test(name)) {
    throw new UsageError(
      `${what} must be 1 to 30 letters, digits and underscores, not beginning with a digit, given ${shown(name)}`,
    )
  }
}
