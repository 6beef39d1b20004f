/** What a statement answers, whoever sent it. */
export type Value = string | number | Buffer | null

/** A session of the server that is ours for as long as it is open: locks of a session are let go where they were taken. */
export interface Seat {
  readonly isOpen: boolean
}

export interface Reply {
  /** Of the first result, as arrays. */
  readonly rows: unknown[][]
  readonly changed: number
  readonly insertId: string
  /** null: of a pool that is not ours. */
  readonly seat: Seat | null
}

/** A procedure answers with its result sets and an OK; a procedure without results with the OK alone. */
export function toReply(result: unknown, seat: Seat | null): Reply {
  if (!Array.isArray(result)) {
    const { affectedRows = 0, insertId = 0 } = result as { affectedRows?: number; insertId?: number | string }
    return { rows: [], changed: affectedRows, insertId: String(insertId), seat }
  }
  const sets = result.filter((set) => Array.isArray(set) && (set.length === 0 || Array.isArray(set[0])))
  const rows = (sets.length > 0 ? sets[0] : result.filter(Array.isArray)) as unknown[][]
  return { rows, changed: 0, insertId: '0', seat }
}
