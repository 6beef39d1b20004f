/** What `mysql2` takes and answers. */
import type { Reply, Seat } from '../session.ts'

export type Value = string | number | Buffer | null

/** A procedure answers with its result sets and an OK; a procedure without results, or an update, with the OK alone. */
export function toReply(result: unknown, seat: Seat | null): Reply {
  if (!Array.isArray(result)) {
    const { affectedRows = 0, insertId = 0 } = result as { affectedRows?: number; insertId?: number | string }
    return { rows: affectedRows === 0 ? [] : [[String(insertId)]], changed: affectedRows, seat }
  }
  const sets = result.filter((set) => Array.isArray(set) && (set.length === 0 || Array.isArray(set[0])))
  const rows = (sets.length > 0 ? sets[0] : result.filter(Array.isArray)) as unknown[][]
  return { rows, changed: 0, seat }
}
