-- The short ways of enter_v5 and leave_v5 for several lines in one step (decision 021). Who gets no answer asks by itself.
--   Lines that are there are never waited for: one that somebody has locked is left out, and nobody else is held up. A new line may
--   have to be waited for, while another session makes it, too: in the order of names, so that no two wait for each other in a circle.
--   Always by the index: a plan that was made while the table was small would read all of it, for each call, once it is large. Without
--   jit: compiling costs more than the whole step.

-- enter_joined_v5(lines, ids, weights, capacities, ttls, data, inbox) -> the token of each whose line was free, NULL for the others.
--   All but the data, a JSON array, are joined by commas, in one order; lines in hex, each line once.
CREATE OR REPLACE FUNCTION @enter_joined_v5(
  p_lines text, p_ids text, p_weights text, p_capacities text, p_ttls text, p_data text, p_inbox text
) RETURNS bigint[] LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_out bigint[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  WITH given AS MATERIALIZED (
    SELECT decode(g.line, 'hex') AS line, g.id::uuid AS id, g.weight::bigint AS weight, g.capacity::bigint AS capacity,
      g.ttl::bigint AS ttl, g.data, g.i, (date_part('epoch', clock_timestamp()) * 1000000)::bigint AS now
    FROM ROWS FROM (
      unnest(string_to_array(p_lines, ',')), unnest(string_to_array(p_ids, ',')), unnest(string_to_array(p_weights, ',')),
      unnest(string_to_array(p_capacities, ',')), unnest(string_to_array(p_ttls, ',')), json_array_elements_text(p_data::json)
    ) WITH ORDINALITY g (line, id, weight, capacity, ttl, data, i)
  ), made AS (
    -- A line that is being swept is still there for this snapshot, and is left to enter_v5: its floor may be newer.
    INSERT INTO @line (name, capacity, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data, solo_inbox)
    SELECT g.line, g.capacity, greatest(m.floor + 1, g.now), g.id, g.weight, g.ttl, g.now + g.ttl, g.now, g.data, p_inbox
    FROM (SELECT floor FROM @meta WHERE one) m, given g LEFT JOIN LATERAL (SELECT 1 AS is FROM @line WHERE name = g.line LIMIT 1) there ON true
    WHERE there.is IS NULL ORDER BY g.line
    ON CONFLICT DO NOTHING RETURNING name, last
  ), free AS MATERIALIZED (
    -- After `made`: whoever still has to wait has locked only what comes before it in the order of names.
    SELECT g.* FROM given g, LATERAL (
      SELECT 1 FROM @line WHERE name = g.line AND places = 0 AND solo_id IS NULL AND dead_until <= g.now
        AND watched_until <= g.now FOR NO KEY UPDATE SKIP LOCKED
    ) l WHERE (SELECT count(*) FROM made) < (SELECT count(*) FROM given)
  ), taken AS (
    UPDATE @line l SET last = greatest(l.last + 1, f.now), capacity = f.capacity, solo_id = f.id, solo_weight = f.weight,
      solo_ttl = f.ttl, solo_lapse = f.now + f.ttl, solo_at = f.now, solo_data = f.data, solo_inbox = p_inbox
    FROM free f WHERE l.name = f.line AND l.name = ANY (ARRAY(SELECT free.line FROM free)) RETURNING l.name, l.last
  )
  SELECT array_agg(d.last ORDER BY g.i) INTO v_out FROM given g LEFT JOIN (TABLE made UNION ALL TABLE taken) d ON d.name = g.line;
  RETURN v_out;
END $$;

-- leave_joined_v5(lines, ids) -> for each a number if it stood alone and is gone, else NULL. Both joined by commas, in one order; hex.
CREATE OR REPLACE FUNCTION @leave_joined_v5(p_lines text, p_ids text) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off AS $$
DECLARE
  v_out bigint[];
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  WITH given AS MATERIALIZED (
    SELECT decode(g.line, 'hex') AS line, g.id::uuid AS id, g.i
    FROM unnest(string_to_array(p_lines, ','), string_to_array(p_ids, ',')) WITH ORDINALITY g (line, id, i)
  ), mine AS MATERIALIZED (
    SELECT g.* FROM given g, LATERAL (
      SELECT 1 FROM @line WHERE name = g.line AND solo_id = g.id AND watched_until <= v_now FOR NO KEY UPDATE SKIP LOCKED
    ) l
  ), gone AS (
    UPDATE @line l SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL
    FROM mine m WHERE l.name = m.line AND l.name = ANY (ARRAY(SELECT mine.line FROM mine)) RETURNING m.i
  )
  SELECT array_agg(gone.i ORDER BY g.i) INTO v_out FROM given g LEFT JOIN gone ON gone.i = g.i;
  RETURN v_out;
END $$;
