/** A URL of a SQL store names one host: `pg` and `mysql2` connect to one. */
import { UsageError } from '../../contract/errors.ts'

/**
 * Refuses `postgres://a,b/shop`. Without this it is taken for one host of that name, which is never found: an outage
 * that does not end, instead of an error that says what to write.
 */
export function checkOneHost(store: string, url: string): void {
  const authority = /^[a-z][a-z+]*:\/\/([^/?#]*)/i.exec(url)?.[1] ?? ''
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  if (!host.includes(',')) return
  throw new UsageError(
    `a ${store} URL names one host, given ${JSON.stringify(host)}; give a name, an address or a proxy that leads to ` +
      `the primary`,
  )
}
