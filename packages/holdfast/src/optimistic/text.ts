/** How names and values are written in the text of a statement. */
import { shown } from '../contract/check.ts'
import { UsageError } from '../contract/errors.ts'
import type { Dialect } from './database.ts'

export function mark(dialect: Dialect, at: number): string {
  return dialect === 'postgres' ? `$${at}` : '?'
}

/** Any name is an identifier once it is quoted; a quote inside is doubled. */
export function quote(dialect: Dialect, name: string): string {
  if (typeof name !== 'string' || name === '' || name.includes('\0')) {
    throw new UsageError(`a table or column must be a name, given ${shown(name)}`)
  }
  return dialect === 'mysql' ? `\`${name.replaceAll('`', '``')}\`` : `"${name.replaceAll('"', '""')}"`
}

/** `schema.table` names a table of a schema. */
export function quoteTable(dialect: Dialect, table: string): string {
  if (typeof table !== 'string') throw new UsageError(`table must be a name, given ${shown(table)}`)
  return table
    .split('.')
    .map((part) => quote(dialect, part))
    .join('.')
}
