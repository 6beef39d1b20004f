/**
 * A driver over a client of an older version of ioredis or of @redis/client, as a user would make it; for the
 * conformance suite.
 */
import { redis } from '../../../build/src/stores/redis/index.js'

/** @param {{ name: string, url: string }} config */
export default async function overOlderClient({ name, url }) {
  const client = name.startsWith('ioredis') ? await ioredis(name, url) : await nodeRedis(name, url)
  const driver = redis(client)
  const close = driver.close.bind(driver)
  driver.close = async () => {
    await close()
    if (client.status !== 'end' && client.isOpen !== false) await client.disconnect()
  }
  return driver
}

/** @param {string} name @param {string} url */
async function ioredis(name, url) {
  const { Redis, default: Whole } = await import(name)
  const client = new (Redis ?? Whole)(url)
  // A user's client keeps his process alive, unless he says so.
  client.on('connect', () => {
    client.stream.unref()
    const { _addedScriptHashesCleanInterval: timer } = client
    timer?.unref()
  })
  return client
}

/** @param {string} name @param {string} url */
async function nodeRedis(name, url) {
  const { createClient } = await import(name)
  const client = createClient({ url })
  client.on('error', () => undefined)
  await client.connect()
  client.unref()
  return client
}
