/** The end of a transaction that failed half-way. */
import type { Engine } from './engine.ts'

/**
 * Never throws, so that what failed first is what callers are told. False: not even that is possible, the file is
 * damaged.
 */
export function rollBack(engine: Engine): boolean {
  try {
    engine.exec('ROLLBACK')
    return true
  } catch (error) {
    // A full disk or a failed write has made SQLite roll back by itself.
    return error instanceof Error && error.message.includes('no transaction is active')
  }
}
