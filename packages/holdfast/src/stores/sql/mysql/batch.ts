/**
 * Joined calls as literals of SQL: in the statements of batch-statements.ts, and in those that the procedures of
 * joined.sql make. Only hex and whole numbers get in; what is anything else goes the other way, as JSON.
 */
import type { Entry } from '../../../contract/driver.ts'
import { hex } from '../hex.ts'
import { US } from '../places.ts'

const NAME_BYTES_MAX = 512
const DATA_LENGTH_MAX = 4_096
const ID = /^[0-9a-f]{32}$/i

/** How many places these are; 0: one of them does not fit, and none may be written as a literal. */
export function fitting(places: readonly (Pick<Entry, 'line' | 'id'> & Partial<Entry>)[]): number {
  for (const { line, id, weight = 1, capacity = 1, ttlMs = 1, data = '' } of places) {
    const isFit =
      ID.test(id) &&
      line.length <= NAME_BYTES_MAX &&
      Buffer.byteLength(line) <= NAME_BYTES_MAX &&
      data.length <= DATA_LENGTH_MAX &&
      Number.isSafeInteger(weight) &&
      Number.isSafeInteger(capacity) &&
      Number.isSafeInteger(Math.round(ttlMs * US))
    if (!isFit) return 0
  }
  return places.length
}

export function nameLiterals(places: readonly Pick<Entry, 'line'>[]): string {
  return places.map(({ line }) => `X'${hex(line)}'`).join(',')
}

export function idLiterals(places: readonly Pick<Entry, 'id'>[]): string {
  return places.map(({ id }) => `X'${id}'`).join(',')
}

/**
 * One row of values for each, in the order of their names: name, capacity, last, changes, solo_id, solo_weight,
 * solo_ttl, solo_lapse, solo_at, solo_data.
 */
export function rowLiterals(entries: readonly Entry[]): string {
  return rowsOf(entries, () => '@hf_token', dataLiteral).join(',')
}

function rowsOf(entries: readonly Entry[], token: (i: number) => string, text: (data: string) => string): string[] {
  const named = entries.map((entry) => ({ name: hex(entry.line), entry }))
  named.sort((a, b) => (a.name < b.name ? -1 : 1))
  return named.map(({ name, entry: { id, capacity, weight, ttlMs, data } }, i) => {
    const ttl = Math.round(ttlMs * US)
    const place = `X'${id}',${weight},${ttl},@hf_now+${ttl},@hf_now,${text(data)}`
    return `(X'${name}',${capacity},${token(i)},1,${place})`
  })
}

function dataLiteral(data: string): string {
  return `_utf8mb4 X'${hex(data)}'`
}

/** For this statement alone: whoever finds a row locked gives up at once. */
const NO_WAIT = 'SET STATEMENT innodb_lock_wait_timeout = 0 FOR '
const NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
/** Larger than any number of a row can hold, whatever the column: the statement fails, and has changed nothing. */
const fail = (column: string): string => `9223372036854775807 + ${column} + 1`

/** The tables as their names stand in a statement. */
export interface Tables {
  readonly line: string
  readonly meta: string
}

/**
 * Makes the lines that are new and takes those that are free, or fails as a whole. The one token for all is the
 * server's clock, which is asked once; the statement's insert id is the token. The floor's row stays locked until the
 * commit: a sweep, which locks it first, can't remove one of these lines meanwhile and leave a floor above this token.
 * (An insert locks what it reads elsewhere even where it does not say so; here it does.)
 */
export function enterText({ line, meta }: Tables, entries: readonly Entry[]): string {
  const first = `@hf_now := LAST_INSERT_ID((SELECT IF(floor < ${NOW}, ${NOW}, ${fail('floor')}) FROM ${meta}
    WHERE one = 1 LOCK IN SHARE MODE))`
  const token = (i: number): string => (i === 0 ? first : '@hf_now')
  // Of one process it is nearly always the same, and longer than the rest of the row.
  let last: string | null = null
  const text = (data: string): string => {
    if (data === last) return '@hf_data'
    last = data
    return `@hf_data := ${dataLiteral(data)}`
  }
  return `${NO_WAIT}INSERT INTO ${line}
    (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data)
    VALUES ${rowsOf(entries, token, text).join(',')} ON DUPLICATE KEY UPDATE
    last = IF(places = 0 AND solo_id IS NULL AND dead_until <= @hf_now AND last < @hf_now, @hf_now, ${fail('last')}),
    capacity = VALUES(capacity), changes = changes + 1, solo_id = VALUES(solo_id), solo_weight = VALUES(solo_weight),
    solo_ttl = VALUES(solo_ttl), solo_lapse = VALUES(solo_lapse), solo_at = VALUES(solo_at),
    solo_data = VALUES(solo_data)`
}

/** Leaves all lines in which these places stand alone; fails as a whole where one of them does not. */
export function leaveText({ line }: Tables, places: readonly Pick<Entry, 'line' | 'id'>[]): string {
  return `${NO_WAIT}UPDATE ${line} FORCE INDEX (PRIMARY)
    SET changes = IF(solo_id IN (${idLiterals(places)}), changes + 1, ${fail('changes')}), solo_id = NULL,
    solo_data = NULL WHERE name IN (${nameLiterals(places)})`
}
