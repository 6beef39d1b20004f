/** Recognises the user's own client of PostgreSQL by its members: no package of one is imported. */
import { hasMethods } from '../shared/shape.ts'

/** What works, for an error that says so. */
export const POSTGRES_CLIENTS = 'a Pool of pg 8, or a sql object of postgres 3'

/** What a client given to `postgres` is used as; null: it can't be used. */
export function postgresClientKind(client: unknown): 'pg' | 'postgres' | null {
  if (typeof client === 'function') return hasMethods(client, 'unsafe', 'listen') ? 'postgres' : null
  // A Client has `query` as well, and is one connection: whatever its owner asks would wait behind us.
  return hasMethods(client, 'query') && !('processID' in client) ? 'pg' : null
}

/** Whether it is one for certain: many objects that are no client of PostgreSQL have a `query`. */
export function isPostgresClient(client: unknown): boolean {
  return typeof client === 'function'
    ? hasMethods(client, 'unsafe', 'listen', 'begin')
    : hasMethods(client, 'query', 'connect') && 'totalCount' in client && 'idleCount' in client
}
