/** A driver over clients that a user has: one of @redis/client, the others of ioredis; for the conformance suite. */
import { createClient } from '@redis/client'
import { Redis } from 'ioredis'
import { redlock } from '../../../build/src/stores/redlock/index.js'

/** @param {string} url */
export default async function overClients(url) {
  const [first, ...others] = url
    .replace('redlock://', '')
    .split(',')
    .map((host) => `redis://${host}`)
  const node = createClient({ url: first })
  node.on('error', () => undefined)
  await node.connect()
  // A user's clients keep his process alive, unless he says so.
  node.unref()
  const ioredis = others.map((server) => new Redis(server))
  for (const client of ioredis) client.on('connect', () => client.stream.unref())
  const driver = redlock([node, ...ioredis])
  const close = driver.close.bind(driver)
  driver.close = async () => {
    await close()
    if (node.isOpen) node.destroy()
    for (const client of ioredis) if (client.status !== 'end') client.disconnect()
  }
  return driver
}
