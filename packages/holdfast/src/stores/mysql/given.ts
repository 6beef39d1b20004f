/** Recognises the user's own mysql2 pool by its members: the package is not imported. */
import { hasMethods } from '../shared/shape.ts'

/** What works, for an error that says so. */
export const MYSQL_CLIENTS = 'a pool of mysql2 3 (also of mysql2/promise)'

export function isMysqlPool(client: unknown): boolean {
  if (!hasMethods(client, 'getConnection', 'execute', 'query')) return false
  // A pool that answers by callbacks has a promise form; a promise pool wraps one that answers by callbacks.
  return hasMethods(client, 'promise') || 'pool' in client
}
