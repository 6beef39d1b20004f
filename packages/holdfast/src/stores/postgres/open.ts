/** `postgres://` and `postgresql://`. */
import type { StoreOpener } from '../shared/opener.ts'
import { isPostgresClient, POSTGRES_CLIENTS } from './given.ts'
import type { PgPool, PostgresOptions, PostgresSql } from './index.ts'

export const store: StoreOpener = {
  schemes: ['postgres', 'postgresql'],
  settings: ['schema', 'listenUrl', 'connections', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey'],
  async open(url, { prefix, connectTimeoutMs }) {
    const [{ postgres }, { loadPg }] = await Promise.all([
      import('./index.ts'),
      import('../sql/postgres/pg-session.ts'),
    ])
    const { schema, listenUrl, connections, sslmode, sslrootcert, sslcert, sslkey } = url.settings
    const options: PostgresOptions = {
      ...(prefix === undefined ? {} : { prefix }),
      ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
      ...(schema === undefined ? {} : { schema }),
      ...(listenUrl === undefined ? {} : { listenUrl: listenUrl === 'false' ? false : listenUrl }),
      ...(connections === undefined ? {} : { connections: Number(connections) }),
    }
    const tls = Object.entries({ sslmode, sslrootcert, sslcert, sslkey }).filter(([, value]) => value !== undefined)
    const query = tls.length === 0 ? '' : `?${new URLSearchParams(tls as [string, string][]).toString()}`
    // A missing package is told now, not at the first lock.
    await loadPg()
    return postgres(`postgres:${url.rest}${query}`, options)
  },
  client: {
    works: POSTGRES_CLIENTS,
    recognises: isPostgresClient,
    async open(client, { prefix, connectTimeoutMs }) {
      const { postgres } = await import('./index.ts')
      return postgres(client as PgPool | PostgresSql, {
        ...(prefix === undefined ? {} : { prefix }),
        ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
      })
    },
  },
}
