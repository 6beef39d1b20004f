/** The statements of the store, as MySQL and MariaDB take them. */
import { hex } from '../hex.ts'
import { US } from '../places.ts'
import { Queries, type StatementName, type Values } from '../queries.ts'
import { fitting, idLiterals, nameLiterals, rowLiterals } from './batch.ts'
import type { Names } from './names.ts'
import { judgeOf, SCHEMA_VERSION } from './schema.ts'
import type { MysqlSession } from './session.ts'

const NOW = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
/** How long one call of ear_v6 waits on the server. */
export const EAR_SPAN_MS = 4_000
/** How long one call of heed_v6 does: a line that is new meanwhile is polled for until then. */
export const HEED_SPAN_MS = 1_000

type Own = 'enterEach' | 'leaveEach' | 'ear' | 'heed' | 'silence'

const STATEMENTS: Record<StatementName | Own, string> = {
  // The short ways are those of join_v6 and leave_v6 (see there), as statements of their own: a procedure around them,
  // with its transaction and its result set, costs more than the update itself. The token comes back as the statement's
  // insert id. Text travels as bytes (swap.sql). Ids travel as hex: MySQL shows statements with their values in its
  // list of processes, and whoever reads information_schema.PROCESSLIST or INNODB_TRX gets an error while one of them
  // holds bytes that are no text.
  enterShort: `UPDATE @line SET last = LAST_INSERT_ID(GREATEST(last + 1, ${NOW})), capacity = $capacity,
    changes = changes + 1, solo_id = UNHEX($id), solo_weight = $weight, solo_ttl = $ttl, solo_lapse = ${NOW} + $ttl,
    solo_at = ${NOW}, solo_data = CONVERT(CAST($data AS BINARY) USING utf8mb4)
    WHERE name = $line AND places = 0 AND solo_id IS NULL AND dead_until <= ${NOW}`,
  leaveShort: `UPDATE @line SET solo_id = NULL, solo_data = NULL, changes = changes + 1
    WHERE name = $line AND solo_id = UNHEX($id)`,
  enterJoined: call('enter_joined', '$fitting, $nameLiterals, $rowLiterals, $entries'),
  leaveJoined: call('leave_joined', '$fitting, $nameLiterals, $idLiterals, $places'),
  enterEach: call('enter_each', '$entries'),
  leaveEach: call('leave_each', '$places'),
  enter: call('enter', '$line, UNHEX($id), $weight, $capacity, $ttl, $data, $wait, $bell'),
  enterAll: call('enter_all', '$entries'),
  rename: call('rename', '$line, UNHEX($id), UNHEX($newId), $ttl, $data'),
  reweigh: call('reweigh', '$line, UNHEX($id), $weight, $turn'),
  take: call('take', '$line, $cost, $burst, $unit, $drain, $shutAfter, $shut'),
  leave: call('leave', '$line, UNHEX($id), $ttl, $after, $rings'),
  touch: call('touch', '$places'),
  break: call('break', '$line, $now'),
  swap: call('swap', '$line, $changes, $version, $next, $keep, $nonce'),
  sweep: call('sweep', '$idle, $most'),
  list: call('list', '$line'),
  poll: call('poll', '$places'),
  stamps: call('stamps', '$names'),
  ear: call('ear', '$line, UNHEX($id), $span'),
  heed: call('heed', '$stamped, $heedSpan'),
  silence: 'DO RELEASE_LOCK($bellName)',
}

function call(procedure: string, values: string): string {
  return `CALL @${procedure}_v${SCHEMA_VERSION}(${values})`
}

export type MysqlQueries = Queries<Own>

/** `rings`: whoever enters a crowd holds a bell, by which the next is told. */
export function mysqlQueries(session: MysqlSession, names: Names, rings: boolean): MysqlQueries {
  return new Queries<Own>({
    session,
    judge: judgeOf(session, names),
    statements: STATEMENTS,
    encoding: {
      id: (id) => Buffer.from(id),
      text: (text) => Buffer.from(text),
      flag: (is) => (is ? 1 : 0),
    },
    own: {
      bell: () => (rings ? 1 : 0),
      bellName: ({ id = '' }) => `holdfast.${id.toUpperCase()}`,
      nonce: ({ change }) => Buffer.from(change?.nonce ?? ''),
      places: ({ places = [] }: Values) => JSON.stringify(places.map(({ line, id }) => [hex(line), id])),
      names: ({ lines = [] }) => JSON.stringify(lines.map(hex)),
      fitting: ({ entries, places = [] }) => fitting(entries ?? places),
      nameLiterals: ({ entries, places = [] }) => nameLiterals(entries ?? places),
      idLiterals: ({ places = [] }) => idLiterals(places),
      rowLiterals: ({ entries = [] }) => rowLiterals(entries),
      span: () => String(EAR_SPAN_MS * US),
      heedSpan: () => String(HEED_SPAN_MS * US),
      stamped: ({ stamped = [] }) =>
        JSON.stringify(stamped.map(([line, stamp]) => [hex(line), stamp === '' ? -1 : Number(stamp)])),
    },
    render: (text) => names.render(text),
    mark: null,
  })
}
