/** `mysql://`, and `mysqls:` over TLS. */
import { checkOneOf } from '../../contract/check.ts'
import { UsageError } from '../../contract/errors.ts'
import { isMysqlPool, MYSQL_CLIENTS } from './given.ts'
import type { MysqlPool } from './index.ts'
import type { StoreOpener } from '../shared/opener.ts'

export const store: StoreOpener = {
  schemes: ['mysql', 'mysqls'],
  settings: ['connections', 'doorbell', 'ca', 'cert', 'key'],
  async open(url, { prefix, connectTimeoutMs }) {
    const [{ mysql }, { loadMysql }] = await Promise.all([import('./index.ts'), import('../sql/mysql/session.ts')])
    const { connections, doorbell, ca, cert, key } = url.settings
    // A missing package is told now, not at the first lock.
    await loadMysql()
    const files = Object.entries({ ca, cert, key }).filter(([, file]) => file !== undefined) as [string, string][]
    if (files.length > 0 && url.scheme !== 'mysqls') {
      throw new UsageError('ca, cert and key in a MySQL URL need mysqls:, which is MySQL over TLS')
    }
    const query = files.length === 0 ? '' : `?${new URLSearchParams(files).toString()}`
    return mysql(`${url.scheme}:${url.rest}${query}`, {
      ...(prefix === undefined ? {} : { prefix }),
      ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
      ...(connections === undefined ? {} : { connections: Number(connections) }),
      ...(doorbell === undefined ? {} : { doorbell: checkOneOf('doorbell', doorbell, ['true', 'false']) === 'true' }),
    })
  },
  client: {
    works: MYSQL_CLIENTS,
    recognises: isMysqlPool,
    async open(client, { prefix, connectTimeoutMs }) {
      const { mysql } = await import('./index.ts')
      return mysql(client as MysqlPool, {
        ...(prefix === undefined ? {} : { prefix }),
        ...(connectTimeoutMs === undefined ? {} : { timeoutMs: connectTimeoutMs }),
      })
    },
  },
}
