/** Makes a driver over a client of some version, as a user would make it, for the conformance suite. */
import { createRequire } from 'node:module'
import { mysql } from '../../packages/holdfast/build/src/stores/mysql/index.js'
import { postgres } from '../../packages/holdfast/build/src/stores/postgres/index.js'
import { redis } from '../../packages/holdfast/build/src/stores/redis/index.js'

/** How each package makes a client, and how a user ends that client. */
const MAKERS = {
  ioredis: async (loaded, url) => {
    const client = new (loaded.Redis ?? loaded.default ?? loaded)(url)
    return [redis(client), () => client.disconnect()]
  },
  redis: nodeRedis,
  '@redis/client': nodeRedis,
  pg: async (loaded, url) => {
    const pool = new loaded.Pool({ connectionString: url })
    pool.on('error', () => undefined)
    return [postgres(pool), () => pool.end()]
  },
  postgres: async (loaded, url) => {
    const sql = (loaded.default ?? loaded)(url, { onnotice: () => undefined })
    return [postgres(sql), () => sql.end({ timeout: 1 })]
  },
  mysql2: async (loaded, url) => {
    const pool = loaded.createPool({ uri: url })
    return [mysql(pool), () => pool.promise().end()]
  },
}

async function nodeRedis(loaded, url) {
  const client = loaded.createClient({ url })
  client.on('error', () => undefined)
  await client.connect()
  return [redis(client), async () => client.isOpen && (client.destroy ?? client.disconnect).call(client)]
}

/** @param {{ name: string, folder: string, url: string }} config */
export default async function overClient({ name, folder, url }) {
  const loaded = createRequire(`${folder}/package.json`)(name)
  const [driver, end] = await MAKERS[name](loaded, url)
  const close = driver.close.bind(driver)
  let ended = null
  driver.close = async () => {
    await close()
    ended ??= end()
    await ended
  }
  return driver
}
