/** A driver over a client of @redis/client, as a user would make it; for the conformance suite. */
import { createClient } from '@redis/client'
import { redis } from '../../../build/src/stores/redis/index.js'

/** @param {string} url */
export default async function overNodeRedis(url) {
  const client = createClient({ url })
  client.on('error', () => undefined)
  await client.connect()
  // A user's client keeps his process alive, unless he says so.
  client.unref()
  const driver = redis(client)
  const close = driver.close.bind(driver)
  driver.close = async () => {
    await close()
    if (client.isOpen) client.destroy()
  }
  return driver
}
