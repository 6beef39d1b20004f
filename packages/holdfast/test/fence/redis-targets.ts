/** A number in a Redis, guarded by the script that reads or writes it. */
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { type RedisGuard, redisGuard } from '../../src/fence/index.ts'
import { RESOURCE, type Target } from './target.ts'

const KEY = 'stock:42:n'

function redisTarget(guard: RedisGuard, close: () => unknown): Target {
  return {
    check: (resource, held) => guard.check(resource, held),
    read: async (held) => Number(await guard.call(RESOURCE, held, ['GET', KEY])),
    write: async (held, value) => void (await guard.call(RESOURCE, held, ['SET', KEY, value])),
    close: async () => {
      await guard.close()
      await close()
    },
  }
}

export async function ownTarget(url: string): Promise<Target> {
  return redisTarget(redisGuard(url), () => undefined)
}

export async function ioredisTarget(url: string): Promise<Target> {
  const client = new Redis(url)
  return redisTarget(redisGuard(client), () => client.disconnect())
}

export async function nodeRedisTarget(url: string): Promise<Target> {
  const client = createClient({ url })
  client.on('error', () => undefined)
  await client.connect()
  return redisTarget(redisGuard(client as never), () => client.destroy())
}
