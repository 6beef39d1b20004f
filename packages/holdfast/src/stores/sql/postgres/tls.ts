/**
 * TLS of a `postgres:` URL for the package `postgres`, by the rules of `pg`: whoever changes the client changes nothing
 * else. Left to itself, `postgres` sends the names of certificate files to the server as settings, and, on a socket of
 * ours, checks the certificate for "localhost".
 */
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { shown } from '../../../contract/check.ts'
import { UsageError } from '../../../contract/errors.ts'
import { readPem } from '../../shared/tls-files.ts'

export interface SecureUrl {
  /** Without what it says of TLS. */
  readonly url: string
  /** What node:tls takes; undefined: the URL says nothing of TLS. */
  readonly ssl?: ConnectionOptions | false
}

const FILES = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key' } as const
const MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full']

export function secureUrl(text: string): SecureUrl {
  if (!/[?&]ssl(mode|rootcert|cert|key)=/.test(text)) return { url: text }
  // Not `new URL` alone: its error carries the whole input, password included.
  if (!URL.canParse(text)) throw new UsageError("the postgres URL can't be used: it is no URL")
  const url = new URL(text)
  const mode = url.searchParams.get('sslmode')
  if (mode !== null && !MODES.includes(mode)) {
    throw new UsageError(`sslmode must be one of ${MODES.join(', ')}, given ${shown(mode)}`)
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  // What the certificate is checked for. An address is checked, too, and is no name that may be sent.
  const ssl: ConnectionOptions = { host, ...(isIP(host) === 0 ? { servername: host } : {}) }
  for (const [name, option] of Object.entries(FILES)) {
    const file = url.searchParams.get(name)
    if (file !== null) ssl[option] = readPem('postgres', name, file)
    url.searchParams.delete(name)
  }
  url.searchParams.delete('sslmode')
  if (mode === 'no-verify') ssl.rejectUnauthorized = false
  return { url: url.href, ssl: mode === 'disable' ? false : ssl }
}
