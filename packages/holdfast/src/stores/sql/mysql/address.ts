/**
 * What a URL says about the connection: `mysqls:` is MySQL over TLS, with the server's certificate and name checked.
 */
import { readFileSync } from 'node:fs'
import type { SslOptions } from 'mysql2'
import { UsageError } from '../../../contract/errors.ts'

export interface Address {
  readonly uri: string
  readonly ssl?: SslOptions
}

const FILES = ['ca', 'cert', 'key'] as const

/** `mysqls://host/database?ca=FILE&cert=FILE&key=FILE`; without `ca` the authorities that Node trusts. */
export function addressOf(url: string): Address {
  // Judged here: the client would judge it at every connection, by an error that carries the URL, password included.
  if (!URL.canParse(url)) throw new UsageError("the MySQL URL can't be used: it is no URL. Is its port a number?")
  if (!/^mysqls:/i.test(url)) return { uri: url }
  const [start = '', query = ''] = url.replace(/^mysqls:/i, 'mysql:').split('?', 2)
  const rest = new URLSearchParams(query)
  const ssl: SslOptions = { rejectUnauthorized: true, verifyIdentity: true }
  for (const name of FILES) {
    const file = rest.get(name)
    rest.delete(name)
    if (file !== null) ssl[name] = readPem(name, file)
  }
  return { uri: rest.size === 0 ? start : `${start}?${rest.toString()}`, ssl }
}

function readPem(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${name} in a mysqls: URL must be a file that can be read, given ${JSON.stringify(file)}`, {
      cause: error,
    })
  }
}
