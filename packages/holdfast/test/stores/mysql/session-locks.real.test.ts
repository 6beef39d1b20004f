import { beforeAll } from 'vitest'
import { sessionLocks } from '../../../src/stores/mysql/index.ts'
import { sessionLockCases } from '../sql/session-locks.ts'
import { isTrue, type Plain, useMariadb } from './server.ts'

const bench = useMariadb()
let admin: Plain
beforeAll(async () => {
  admin = await bench.connect()
})

sessionLockCases({
  url: () => bench.url,
  make: sessionLocks,
  async terminate() {
    const ids = await admin.ask(
      'SELECT id FROM information_schema.PROCESSLIST WHERE id <> CONNECTION_ID() AND user = "root"',
    )
    for (const [id] of ids) await admin.ask(`KILL CONNECTION ${String(id)}`).catch(() => [])
  },
  waiting: (count) =>
    isTrue(admin, `SELECT COUNT(*) >= ${count} FROM information_schema.PROCESSLIST WHERE state = 'User lock'`),
})
