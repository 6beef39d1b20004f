/** A driver over an ioredis client, as a user would make it; for the conformance suite. */
import { Redis } from 'ioredis'
import { redis } from '../../../build/src/stores/redis/index.js'

/** @param {string} url */
export default function overIoredis(url) {
  const client = new Redis(url, { keyPrefix: 'app:' })
  // A user's client keeps his process alive, unless he says so.
  client.on('connect', () => client.stream.unref())
  const driver = redis(client)
  const close = driver.close.bind(driver)
  driver.close = async () => {
    await close()
    if (client.status !== 'end') client.disconnect()
  }
  return driver
}
