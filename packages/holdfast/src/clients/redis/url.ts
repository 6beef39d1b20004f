/**
 * Reads `redis[s]://[user:pass@]host[:6379][/db]`. No error repeats any part of it: an unescaped password could be
 * anywhere.
 */
import { UsageError } from '../../contract/errors.ts'
import type { ConnectionOptions } from './options.ts'

const SHAPE = 'redis[s]://[user:pass@]host[:6379][/db], with reserved characters in user and password percent-encoded'

/** The options that a URL stands for. Throws a UsageError. Query options are the caller's: take them off first. */
export function parseRedisUrl(given: string | URL): ConnectionOptions {
  // Parsed again when it is a URL already, since a caller may hold one that was changed by hand.
  const url = parse(String(given))
  if (url.protocol !== 'redis:' && url.protocol !== 'rediss:') throw wrong('its scheme is neither redis: nor rediss:')
  if (url.hostname === '') throw wrong('it has no host')
  if (url.search !== '' || url.hash !== '') throw wrong('it has a query or a fragment')
  if (url.username !== '' && url.password === '') throw wrong('it has a user but no password')
  const db = /^\/?(\d{0,9})\/?$/.exec(url.pathname)?.[1]
  if (db === undefined) throw wrong('its path is not the number of a database')
  // `redis://host:0` parses, and nothing listens there.
  if (url.port === '0') throw wrong('its port is 0')
  return {
    host: decode(url.hostname.replace(/^\[(.*)\]$/, '$1')),
    ...(url.port !== '' && { port: Number(url.port) }),
    ...(url.username !== '' && { username: decode(url.username) }),
    ...(url.password !== '' && { password: decode(url.password) }),
    ...(db !== '' && { db: Number(db) }),
    ...(url.protocol === 'rediss:' && { tls: true }),
  }
}

function parse(text: string): URL {
  // Not `new URL`: its error carries the whole input, password included.
  if (!URL.canParse(text)) throw wrong('it is no URL')
  return new URL(text)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (error) {
    if (error instanceof URIError) throw wrong('a % in it is not followed by the code of a UTF-8 character')
    throw error
  }
}

function wrong(why: string): UsageError {
  return new UsageError(`the Redis URL can't be used: ${why}. It must look like ${SHAPE}.`)
}
