/** Says what a value seems to be that should have been a client, for an error. */
import { shown } from '../../contract/check.ts'

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
  if (Array.isArray(value)) return 'an array'
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return shown(value)
  const known = KNOWN.find(([, ...members]) => members.every((member) => member in value))
  if (known !== undefined) return known[0]
  const { name } = typeof value === 'function' ? value : (value.constructor ?? Object)
  if (typeof value === 'function') return name === '' ? 'a function' : `a function named ${shown(name)}`
  return name === 'Object' || name === '' ? 'an object' : `an object of class ${name.slice(0, 80)}`
}

/** Whether the value has all these methods. */
export function hasMethods(value: unknown, ...methods: readonly string[]): value is object {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  return methods.every((name) => typeof (value as Record<string, unknown>)[name] === 'function')
}
