-- enter_all_v6(batch, inbox) -> what enter answers for each, in the order given.
--   NULL: not all have room, and nothing was done. {`capacity n`, i}: the i-th line is in use with that capacity.
--   batch: JSON array of [line, id, weight, capacity, ttl, data], line in hex. They are entered in the order of their names: two
--   of these can't wait for each other in a circle.
CREATE OR REPLACE FUNCTION @enter_all_v6(p_batch text, p_inbox text) RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  r record;
  v_answer text;
  v_out text[] := array_fill(NULL::text, ARRAY[json_array_length(p_batch::json)]);
BEGIN
  FOR r IN
    SELECT decode(e ->> 0, 'hex') AS line, (e ->> 1)::uuid AS id, (e ->> 2)::bigint AS weight, (e ->> 3)::bigint AS capacity,
      (e ->> 4)::bigint AS ttl, e ->> 5 AS data, i
    FROM json_array_elements(p_batch::json) WITH ORDINALITY u(e, i)
    ORDER BY 1, i
  LOOP
    v_answer := @enter_v6(r.line, r.id, r.weight, r.capacity, r.ttl, r.data, p_inbox, false);
    IF v_answer LIKE 'capacity %' THEN
      v_out := ARRAY[v_answer, r.i::text];
      RAISE EXCEPTION 'another capacity' USING ERRCODE = 'HF002';
    END IF;
    IF v_answer IS NULL OR split_part(v_answer, ',', 2)::bigint + r.weight > r.capacity THEN
      v_out := NULL;
      RAISE EXCEPTION 'no room' USING ERRCODE = 'HF002';
    END IF;
    v_out[r.i] := v_answer;
  END LOOP;
  RETURN v_out;
EXCEPTION WHEN SQLSTATE 'HF002' THEN
  -- Whatever was entered before is undone with the block.
  RETURN v_out;
END $$;

-- rename_v6(line, id, new, ttl, data, inbox) -> `token,ahead,recheck,wanted`, the place renewed; NULL: it has lapsed, or is another's.
CREATE OR REPLACE FUNCTION @rename_v6(p_line bytea, p_id uuid, p_new uuid, p_ttl bigint, p_data text, p_inbox text)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  p record;
  v_now bigint;
  v_answer text;
BEGIN
  l := @lock_v6(p_line);
  IF l.name IS NULL THEN RETURN NULL; END IF;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := @spill_v6(l);
  l := @tidy_v6(l, v_now, false);
  SELECT token, id INTO p FROM @place WHERE line = p_line AND id IN (p_id, p_new) AND NOT broken;
  IF FOUND THEN
    UPDATE @place SET id = p_new, ttl = p_ttl, lapse = v_now + p_ttl, data = p_data, inbox = p_inbox
    WHERE line = p_line AND token = p.token;
    l.lapses_from := least(l.lapses_from, v_now + p_ttl);
    IF p.id <> p_new THEN
      -- A late enter of the old id must not stand in the line a second time.
      INSERT INTO @dead (line, id, until) VALUES (p_line, p_id, v_now + p_ttl)
      ON CONFLICT (line, id) DO UPDATE SET until = excluded.until;
      l.dead_until := greatest(l.dead_until, v_now + p_ttl);
    END IF;
    v_answer := @stand_v6(l, p.token, v_now);
  END IF;
  PERFORM @save_v6(l);
  PERFORM @tell_v6(l, v_now);
  RETURN v_answer;
END $$;
