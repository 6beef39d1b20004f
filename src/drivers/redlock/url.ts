/** Reads `redlock://[user:pass@]h1[:6379],h2,h3[/db]`. No error repeats any part of it: an unescaped password could be anywhere. */
import { UsageError } from '../../core/errors.ts'
import type { ConnectionOptions } from '../redis/wire/options.ts'
import { parseRedisUrl } from '../redis/wire/url.ts'

const SHAPE =
  'redlock://[user:pass@]h1[:6379],h2,h3[/db], with reserved characters in user and password percent-encoded'

/** The servers that the URL names. Each may have a user and a password of its own; the first one's are for those without. */
export function parseRedlockUrl(text: string): ConnectionOptions[] {
  const match = /^redlock:\/\/([^/?#]+)(\/[^?#]*)?$/i.exec(text)
  if (match === null) throw new UsageError(`the Redlock URL can't be used. It must look like ${SHAPE}.`)
  const [, authority = '', path = ''] = match
  const servers = authority.split(',').map((part) => parseRedisUrl(`redis://${part}${path}`))
  const { username, password } = servers[0] ?? {}
  const login = { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) }
  return servers.map((server) => (server.password === undefined ? { ...server, ...login } : server))
}
