/** Says what a value seems to be that should have been a client. Apart from shape.ts, which goes into small bundles. */
import { shapeOf } from './shape.ts'

/** Values that users mistake for clients, recognised by members that no others have. */
const KNOWN: readonly (readonly [what: string, ...members: string[]])[] = [
  ['an Express app', 'use', 'listen', 'handle'],
  ['a client of redis 2 or 3, which answers by callbacks', 'send_command', 'server_info', 'duplicate'],
  ['a pg Client, which is one connection', 'query', 'connect', 'processID'],
  ['a mysql2 PoolCluster', 'getConnection', 'add', 'of'],
  ['a pool of the package mysql, which answers by callbacks', 'getConnection', 'acquireConnection', 'escape'],
  ['a mysql2 connection', 'execute', 'query', 'threadId'],
  ['a mysql2 promise connection', 'execute', 'query', 'connection'],
  ['a MongoDB client', 'db', 'startSession', 'withSession'],
  ['a Prisma client', '$connect', '$transaction', '$disconnect'],
  ['a Knex instance', 'raw', 'schema', 'migrate'],
]

export function seen(value: unknown): string {
  const isLike = typeof value === 'object' || typeof value === 'function'
  const known = isLike && value !== null && KNOWN.find(([, ...members]) => members.every((member) => member in value))
  return known ? known[0] : shapeOf(value)
}
