/** The statements of the store, as PostgreSQL takes them. */
import { hex } from '../hex.ts'
import { US } from '../places.ts'
import { Queries, type StatementName } from '../queries.ts'
import type { Names } from './names.ts'
import { judgeOf } from './schema.ts'
import type { PostgresSession } from './session.ts'

const NOW = "(date_part('epoch', clock_timestamp()) * 1000000)::bigint"
/** Observed lines are told to notify for a minute, and told again three times in that time. */
export const OBSERVE_MS = 60_000

type Own = 'observe' | 'notify'

const STATEMENTS: Record<StatementName | Own, string> = {
  // The short ways are those of enter_v6 and leave_v6 (see there), as statements of their own: a function around them
  // costs as much as the update itself.
  enterShort: `UPDATE @line SET last = greatest(last + 1, ${NOW}), capacity = $capacity::bigint, solo_id = $id::uuid,
    solo_weight = $weight::bigint, solo_ttl = $ttl::bigint, solo_lapse = ${NOW} + $ttl::bigint, solo_at = ${NOW},
    solo_data = $data::text, solo_inbox = $inbox::text
    WHERE name = $line::bytea AND places = 0 AND solo_id IS NULL AND dead_until <= ${NOW} AND watched_until <= ${NOW}
    RETURNING last`,
  leaveShort: `UPDATE @line SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL
    WHERE name = $line::bytea AND solo_id = $id::uuid AND watched_until <= ${NOW}`,
  enterJoined: `SELECT array_to_string(@enter_joined_v6($lines::text, $ids::text, $weights::text, $capacities::text,
    $ttls::text, $datas::text, $inbox::text), ';', '')`,
  leaveJoined: "SELECT array_to_string(@leave_joined_v6($lines::text, $ids::text), ';', '')",
  enter: `SELECT @enter_v6($line::bytea, $id::uuid, $weight::bigint, $capacity::bigint, $ttl::bigint, $data::text,
    $inbox::text, $wait::boolean)`,
  enterAll: "SELECT array_to_string(@enter_all_v6($entries::text, $inbox::text), ';')",
  rename: 'SELECT @rename_v6($line::bytea, $id::uuid, $newId::uuid, $ttl::bigint, $data::text, $inbox::text)',
  reweigh: 'SELECT @reweigh_v6($line::bytea, $id::uuid, $weight::bigint, $turn::integer)',
  take: `SELECT @take_v6($line::bytea, $cost::bigint, $burst::bigint, $unit::bigint, $drain::bigint, $shutAfter::bigint,
    $shut::bigint)`,
  leave: 'SELECT @leave_v6($line::bytea, $id::uuid, $ttl::bigint, $after::bigint)',
  touch: "SELECT array_to_string(@touch_v6($lines::text, $ids::text), ';', '')",
  break: 'SELECT @break_v6($line::bytea, $now::boolean)',
  swap: `SELECT s[1], s[2], s[3]
    FROM @swap_v6($line::bytea, $changes::boolean, $version::bigint, $next::text, $keep::bigint, $nonce::text) s`,
  sweep: 'SELECT @sweep_v6($idle::bigint, $most::integer)',
  list: 'SELECT * FROM @list_v6($line::bytea)',
  poll: 'SELECT @poll_v6($lines::text, $ids::text)',
  observe: 'SELECT @observe_v6($names::text, $span::bigint)',
  stamps: `SELECT encode(name, 'hex'), xmin::text FROM @line
    WHERE name IN (SELECT decode(h, 'hex') FROM unnest(string_to_array($names::text, ',')) h)`,
  notify: 'SELECT pg_notify($channel::text, $payload::text)',
}

export type PostgresQueries = Queries<Own>

/** `inbox`: where the places of this process are told of their grants; null: nowhere. */
export function postgresQueries(session: PostgresSession, names: Names, inbox: string | null): PostgresQueries {
  return new Queries<Own>({
    session,
    judge: judgeOf(session, names),
    statements: STATEMENTS,
    encoding: { id: (id) => id, text: (text) => text, flag: (is) => is },
    own: {
      inbox: () => inbox,
      nonce: ({ change }) => change?.nonce ?? null,
      lines: ({ places = [] }) => places.map(({ line }) => hex(line)).join(','),
      ids: ({ places = [] }) => places.map(({ id }) => id).join(','),
      weights: ({ entries = [] }) => entries.map(({ weight }) => weight).join(','),
      capacities: ({ entries = [] }) => entries.map(({ capacity }) => capacity).join(','),
      ttls: ({ entries = [] }) => entries.map(({ ttlMs }) => Math.round(ttlMs * US)).join(','),
      datas: ({ entries = [] }) => JSON.stringify(entries.map(({ data }) => data)),
      names: ({ lines = [] }) => lines.map(hex).join(','),
      span: () => OBSERVE_MS * US,
      channel: ({ channel }) => channel,
      payload: ({ payload }) => payload,
    },
    render: (text) => names.render(text),
    mark: (n) => `$${n}`,
  })
}
