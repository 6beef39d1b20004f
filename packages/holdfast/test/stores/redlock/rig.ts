/** Five real servers, and the classic algorithm beside ours, to show what it does where ours does something else. */
import { randomBytes } from 'node:crypto'
import type { Entry } from '../../../src/contract/driver.ts'
import { redisAsk } from '../../../../holdfast-lab/src/testbed/redis.ts'
import type { Server } from '../../../../holdfast-lab/src/testbed/server.ts'

export function entry(line: string, over: Partial<Entry> = {}): Entry {
  const data = JSON.stringify({ label: 'test', host: 'here', pid: process.pid })
  return { line, id: randomBytes(16).toString('hex'), weight: 1, capacity: 1, ttlMs: 10_000, data, ...over }
}

export function urlOf(servers: readonly Pick<Server, 'port'>[]): string {
  return `redlock://${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
}

/** Classic Redlock, as published: SET NX PX on each of these servers; how many said yes. */
export async function classicVotes(servers: readonly Server[], key: string, ttlMs: number): Promise<number> {
  const value = randomBytes(8).toString('hex')
  const answers = await Promise.all(
    servers.map((server) => redisAsk(server.port, '', ['SET', key, value, 'NX', 'PX', String(ttlMs)])),
  )
  return answers.filter((answer) => answer === '+OK\r\n').length
}

export const ask = (of: Server, ...command: string[]): Promise<string> => redisAsk(of.port, '', command)

export const fresh = (): string => `line-${randomBytes(6).toString('hex')}`
