/** MySQL and MariaDB: procedures, and doorbells for whoever is granted. */
import type { PollRange } from '../../shared/poller.ts'
import type { Dialect } from '../dialect.ts'
import { BatchStatements } from './batch-statements.ts'
import type { Names } from './names.ts'
import { mysqlQueries } from './queries.ts'
import { setUp } from './schema.ts'
import type { MysqlSession } from './session.ts'
import { MysqlWakeups } from './wakeups.ts'

export interface MysqlParts {
  readonly session: MysqlSession
  readonly names: Names
  readonly timeoutMs: number
  readonly poll: PollRange
  /** Whether waiters are rung for, where the session has connections for it. */
  readonly doorbell: boolean
}

export function mysqlDialect({ session, names, timeoutMs, poll, doorbell }: MysqlParts): Dialect {
  const ear = doorbell ? session.ear : null
  const queries = mysqlQueries(session, names, ear !== null)
  const joined = new BatchStatements(session, names, queries)
  return {
    name: 'mysql',
    queries,
    wakeups: new MysqlWakeups({ queries, ear, timeoutMs, poll }),
    halvesFrom: 64,
    joined: (name, entries) => joined[name](entries),
    readAnswers,
    setup: () => setUp(session, names),
    close: () => session.close(),
  }
}

/** `i:answer;` for each, i from 1; or `*:answer` for all. */
function readAnswers(text: string, count: number): (string | null)[] {
  if (text.startsWith('*:')) return Array.from({ length: count }, () => text.slice(2))
  const answers = Array.from({ length: count }, (): string | null => null)
  for (const part of text.split(';')) {
    const colon = part.indexOf(':')
    if (colon > 0) answers[Number(part.slice(0, colon)) - 1] = part.slice(colon + 1)
  }
  return answers
}
