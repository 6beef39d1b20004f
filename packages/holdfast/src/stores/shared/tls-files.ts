/** Certificates and key for TLS, from the files that a store's URL names. */
import { readFileSync } from 'node:fs'
import { shown } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import type { StoreUrl } from '../../store-url.ts'

/** What node:tls takes. */
export interface TlsFiles {
  readonly ca?: Buffer
  readonly cert?: Buffer
  readonly key?: Buffer
}

/** undefined: the URL names no files. `secure` is the scheme that may name files. */
export function tlsFiles({ scheme, settings }: StoreUrl, store: string, secure: string): TlsFiles | undefined {
  const { ca, cert, key } = settings
  if (ca === undefined && cert === undefined && key === undefined) return undefined
  if (scheme !== secure) {
    throw new UsageError(`ca, cert and key in a URL of ${store} need ${secure}:, which is ${store} over TLS`)
  }
  return {
    ...(ca === undefined ? {} : { ca: readPem(store, 'ca', ca) }),
    ...(cert === undefined ? {} : { cert: readPem(store, 'cert', cert) }),
    ...(key === undefined ? {} : { key: readPem(store, 'key', key) }),
  }
}

export function readPem(store: string, what: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new UsageError(`${what} in the URL of ${store} names a file that can't be read: ${shown(file)}`, {
      cause: error,
    })
  }
}
