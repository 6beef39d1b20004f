/**
 * Joined calls as literals of SQL: the procedures of joined.sql make their statements of them. Only hex and whole
 * numbers get in; what is anything else goes the other way, as JSON.
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
  let data = ''
  let dataHex = ''
  const rows = entries.map((entry) => {
    const { line, id, capacity, weight } = entry
    const ttl = Math.round(entry.ttlMs * US)
    // Of one process it is nearly always the same.
    if (entry.data !== data) {
      data = entry.data
      dataHex = hex(data)
    }
    return (
      `(X'${hex(line)}',${capacity},@hf_token,1,X'${id}',${weight},${ttl},@hf_now+${ttl},@hf_now,` +
      `_utf8mb4 X'${dataHex}')`
    )
  })
  return rows.sort().join(',')
}
