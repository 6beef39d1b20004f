/** Mappers wrap what the driver threw: its code, and on MySQL its state, tell what happened. */
type Members = Record<string, unknown>

export function driverError(error: unknown): unknown {
  const { original, driverError: inner, meta, cause } = error as Record<string, Members | undefined>
  const adapter = (meta?.driverAdapterError as Members | undefined)?.cause as Members | undefined
  if (adapter?.originalCode !== undefined) return ofPrisma(error, adapter)
  return original ?? inner ?? (cause?.code === undefined ? error : cause)
}

/** Prisma gives the code as text, whichever the database: PostgreSQL's state, or MySQL's number. */
function ofPrisma(error: unknown, adapter: Members): Error {
  const made = new Error(String(adapter.originalMessage), { cause: error })
  const code = String(adapter.originalCode)
  return Object.assign(made, /^\d{4}$/.test(code) ? { errno: Number(code), sqlState: adapter.state } : { code })
}
