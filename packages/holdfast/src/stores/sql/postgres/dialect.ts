/** PostgreSQL: functions, and notifications to whoever is granted. */
import { system } from '../../../system.ts'
import type { PollRange } from '../../shared/poller.ts'
import type { Dialect } from '../dialect.ts'
import { answerOf } from '../queries.ts'
import type { Names } from './names.ts'
import { postgresQueries } from './queries.ts'
import { setUp } from './schema.ts'
import type { PostgresSession } from './session.ts'
import { PostgresWakeups } from './wakeups.ts'

export interface PostgresParts {
  readonly session: PostgresSession
  readonly names: Names
  readonly timeoutMs: number
  /** Whether the session can hear. */
  readonly hears: boolean
  readonly poll: PollRange
}

export function postgresDialect({ session, names, timeoutMs, hears, poll }: PostgresParts): Dialect {
  const inbox = `holdfast_${system.randomId()}`
  const queries = postgresQueries(session, names, hears ? inbox : null)
  return {
    name: 'postgres',
    queries,
    wakeups: new PostgresWakeups({ session, queries, inbox, channel: names.channel, hears, timeoutMs, poll }),
    halvesFrom: 16,
    joined: async (name, entries) => answerOf(await queries.ask(name, { entries, places: entries })),
    readAnswers: (answer) => answer.split(';'),
    setup: () => setUp(session, names),
    close: () => session.close(),
  }
}
