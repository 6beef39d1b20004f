/**
 * An actor: a process of its own that does one step at a time, so that it can be stopped or killed between two of them.
 */
import type { Connection as SqlConnection } from 'mysql2/promise'
import { type Held, holdfast } from 'holdfast'
import { Connection, parseRedisUrl } from 'holdfast/internal'
import { redisGuard, type RedisCommand, type RedisGuard } from 'holdfast/fence'
import { openConnection } from '../database.ts'
import type { Answer, Order, Request } from './order.ts'

const redis = new Map<string, Connection>()
const guards = new Map<string, RedisGuard>()
const sql = new Map<string, SqlConnection>()
let held: Held | null = null

async function perform(order: Order): Promise<string | number | boolean | null> {
  switch (order.do) {
    case 'redis':
      return plain(await connection(order.url).command(order.command))
    case 'sql': {
      const open = sql.get(order.url) ?? (await openConnection(order.url))
      sql.set(order.url, open)
      const [result] = await open.execute(order.sql, [...order.values])
      return 'affectedRows' in result ? result.affectedRows : JSON.stringify(result)
    }
    case 'acquire': {
      const hf = await holdfast(order.url, order.options)
      held = await hf.mutex(order.line).acquire()
      return String(held.token)
    }
    case 'assert':
      holding().assertHeld()
      return null
    case 'state':
      return holding().state
    case 'release':
      return holding().release()
    case 'guarded':
      break
  }
  const guard = guards.get(order.url) ?? redisGuard(order.url)
  guards.set(order.url, guard)
  const [name = '', key = '', ...args] = order.command
  const command: RedisCommand = [name, key, ...args]
  return plain(await guard.call(order.resource, holding(), command))
}

function connection(url: string): Connection {
  const open = redis.get(url) ?? new Connection(parseRedisUrl(url))
  redis.set(url, open)
  return open
}

function holding(): Held {
  if (held === null) throw new TypeError('this actor has taken no lock')
  return held
}

function plain(value: unknown): string | number | null {
  return typeof value === 'number' || typeof value === 'string' || value === null ? value : JSON.stringify(value)
}

async function answer({ id, order }: Request): Promise<void> {
  let said: Answer
  try {
    said = { id, value: await perform(order) }
  } catch (error) {
    if (!(error instanceof Error)) throw error
    said = { id, error: { code: 'code' in error ? String(error.code) : error.name, message: error.message } }
  }
  // The sender of the order may have gone; 'disconnect' tells us.
  process.send?.(said, undefined, undefined, () => undefined)
}

process.on('message', (request: Request) => void answer(request))
process.on('disconnect', () => process.exit(0))
// Ctrl-C goes to the whole group; the lab ends us.
process.on('SIGINT', () => undefined)
