-- The short ways of enter_v6 and leave_v6 for several lines in one step (decision 021). Who gets no answer asks by itself.
--   Lines that are there are never waited for: one that somebody has locked is left out, and nobody else is held up. A new line may
--   have to be waited for, while another session makes it, too: in the order of names, so that no two wait for each other in a circle.
--   Always by the index: a plan that was made while the table was small would read all of it, for each call, once it is large. Without
--   jit: compiling costs more than the whole step.

--   Backslashes stand in E'' only: with standard_conforming_strings off a plain '' would take them for its own, and every line would
--   get another name than it has for whoever asks by itself.
--   A generic plan: the planner would take a new one for each call, which costs as much as the step.

-- enter_joined_v6(lines, ids, weights, capacities, ttls, data, inbox) -> the token of each whose line was free, NULL for the others.
--   All but the data, a JSON array, are joined by commas, in one order; lines in hex, each line once.
CREATE OR REPLACE FUNCTION @enter_joined_v6(
  p_lines text, p_ids text, p_weights text, p_capacities text, p_ttls text, p_data text, p_inbox text
) RETURNS bigint[] LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_lines bytea[] := (E'{"\\\\x' || replace(p_lines, ',', E'","\\\\x') || '"}')::bytea[];
  v_ids uuid[] := string_to_array(p_ids, ',')::uuid[];
  v_weights bigint[] := string_to_array(p_weights, ',')::bigint[];
  v_capacities bigint[] := string_to_array(p_capacities, ',')::bigint[];
  v_ttls bigint[] := string_to_array(p_ttls, ',')::bigint[];
  v_data text[] := ARRAY(SELECT json_array_elements_text(p_data::json));
  v_count bigint := cardinality(v_lines);
  v_there bigint;
  v_done bigint := 0;
  v_token bigint;
  v_free bytea[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  -- In one snapshot: a line that is being swept is still there for it, and is left to enter_v6, whose floor is newer.
  SELECT greatest(m.floor + 1, v_now), (SELECT count(*) FROM @line WHERE name = ANY (v_lines)) INTO v_token, v_there
  FROM @meta m WHERE m.one;
  -- New lines come first: whoever has to wait for one has locked only what comes before it in the order of names.
  IF v_there = 0 THEN
    INSERT INTO @line (name, capacity, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data, solo_inbox)
    SELECT g.line, g.capacity, v_token, g.id, g.weight, g.ttl, v_now + g.ttl, v_now, g.data, p_inbox
    FROM unnest(v_lines, v_ids, v_weights, v_capacities, v_ttls, v_data) g (line, id, weight, capacity, ttl, data)
    ORDER BY g.line ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS v_done = ROW_COUNT;
  ELSIF v_there < v_count THEN
    -- Of those that are there none is waited for, as the insert itself would. The floor is as new as what is seen of the lines.
    INSERT INTO @line (name, capacity, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data, solo_inbox)
    SELECT g.line, g.capacity, greatest(m.floor + 1, v_now), g.id, g.weight, g.ttl, v_now + g.ttl, v_now, g.data, p_inbox
    FROM (SELECT floor FROM @meta WHERE one) m,
      unnest(v_lines, v_ids, v_weights, v_capacities, v_ttls, v_data) g (line, id, weight, capacity, ttl, data)
    WHERE NOT EXISTS (SELECT FROM @line WHERE name = g.line) ORDER BY g.line ON CONFLICT DO NOTHING;
  END IF;
  IF v_there > 0 THEN
    -- What is free in its newest form, under its lock. The token is above those of all of them.
    SELECT array_agg(l.name), greatest(max(l.last) + 1, v_now) INTO v_free, v_token FROM (
      SELECT name, last FROM @line WHERE name = ANY (v_lines) AND places = 0 AND solo_id IS NULL AND dead_until <= v_now
        AND watched_until <= v_now FOR NO KEY UPDATE SKIP LOCKED
    ) l;
    UPDATE @line l SET last = v_token, capacity = g.capacity, solo_id = g.id, solo_weight = g.weight,
      solo_ttl = g.ttl, solo_lapse = v_now + g.ttl, solo_at = v_now, solo_data = g.data, solo_inbox = p_inbox
    FROM unnest(v_lines, v_ids, v_weights, v_capacities, v_ttls, v_data) g (line, id, weight, capacity, ttl, data)
    WHERE l.name = g.line AND l.name = ANY (v_free);
    GET DIAGNOSTICS v_done = ROW_COUNT;
  END IF;
  IF v_done = v_count THEN RETURN array_fill(v_token, ARRAY[v_count::integer]); END IF;
  -- Only places of this very step: one that was there before has not been renewed.
  RETURN ARRAY(
    SELECT l.last FROM unnest(v_lines, v_ids) WITH ORDINALITY g (line, id, i)
    LEFT JOIN @line l ON l.name = g.line AND l.solo_id = g.id AND l.solo_at = v_now ORDER BY g.i
  );
END $$;

-- leave_joined_v6(lines, ids) -> for each a number if it stood alone and is gone, else NULL. Both joined by commas, in one order; hex.
CREATE OR REPLACE FUNCTION @leave_joined_v6(p_lines text, p_ids text) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_lines bytea[] := (E'{"\\\\x' || replace(p_lines, ',', E'","\\\\x') || '"}')::bytea[];
  v_ids uuid[] := string_to_array(p_ids, ',')::uuid[];
  v_mine uuid[];
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  -- An id names one place of one line: which of the names and which of the ids met need not be asked.
  v_mine := ARRAY(
    SELECT solo_id FROM @line WHERE name = ANY (v_lines) AND solo_id = ANY (v_ids) AND watched_until <= v_now
    FOR NO KEY UPDATE SKIP LOCKED
  );
  UPDATE @line SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL WHERE name = ANY (v_lines) AND solo_id = ANY (v_mine);
  IF cardinality(v_mine) = cardinality(v_ids) THEN RETURN array_fill(1::bigint, ARRAY[cardinality(v_ids)]); END IF;
  RETURN ARRAY(SELECT array_position(v_mine, g.id) FROM unnest(v_ids) WITH ORDINALITY g (id, i) ORDER BY g.i);
END $$;
