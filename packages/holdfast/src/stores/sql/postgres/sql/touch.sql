-- touch_v6(lines, ids) -> for each, `token,ahead,recheck,wanted`, or NULL: gone for good.
--   lines: hex of each name, ids: hex; both joined by commas, in one order.
CREATE OR REPLACE FUNCTION @touch_v6(p_lines text, p_ids text) RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  r record;
  v_ids uuid[] := string_to_array(p_ids, ',')::uuid[];
  v_lines bytea[];
  v_out text[];
  v_left integer := cardinality(v_ids);
  v_granted bigint[];
  v_now bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  SELECT array_agg(decode(u.hex, 'hex') ORDER BY u.i) INTO v_lines
  FROM unnest(string_to_array(p_lines, ',')) WITH ORDINALITY u(hex, i);
  v_out := array_fill(NULL::text, ARRAY[v_left]);

  -- All in the order of their names: two processes that renew the same lines can't wait for each other in a circle.
  PERFORM 1 FROM @line WHERE name = ANY (v_lines) ORDER BY name FOR UPDATE;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;

  FOR r IN
    UPDATE @line t SET solo_lapse = v_now + t.solo_ttl
    FROM unnest(v_lines, v_ids) WITH ORDINALITY u(line, id, i)
    WHERE t.name = u.line AND t.solo_id = u.id AND t.solo_lapse > v_now
    RETURNING u.i, t.last
  LOOP
    v_out[r.i] := r.last || ',0,-1,0';
    v_left := v_left - 1;
  END LOOP;
  IF v_left = 0 THEN RETURN v_out; END IF;

  FOR l IN SELECT * FROM @line WHERE name = ANY (v_lines) AND places > 0 LOOP
    IF l.lapses_from <= v_now OR l.raised IS NOT NULL THEN
      l := @tidy_v6(l, v_now, false);
      PERFORM @save_v6(l);
      PERFORM @tell_v6(l, v_now);
    END IF;
    UPDATE @place SET lapse = v_now + ttl WHERE line = l.name AND id = ANY (v_ids) AND NOT broken;
    v_granted := '{}';
    FOR r IN
      SELECT u.i, s.* FROM (
        SELECT id, token, weight, granted, broken,
          CASE WHEN token = l.raised THEN sum(weight) FILTER (WHERE token <= l.raised_beside) OVER ()
            WHEN token BETWEEN l.raised AND l.raised_beside THEN sum(weight) OVER w - l.raised_extra
            ELSE sum(weight) OVER w END - weight AS ahead,
          CASE WHEN token = l.raised THEN min(lapse) FILTER (WHERE token <= l.raised_beside AND token <> l.raised) OVER ()
            ELSE min(lapse) OVER (ORDER BY token ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) END AS lapses,
          CASE WHEN lead(token) OVER w IS NOT NULL OR l.raised <> token THEN 1 ELSE 0 END AS wanted
        FROM @place WHERE line = l.name WINDOW w AS (ORDER BY token)
      ) s JOIN unnest(v_ids) WITH ORDINALITY u(id, i) ON u.id = s.id WHERE NOT s.broken
    LOOP
      v_out[r.i] := r.token || ',' || r.ahead || ',' || coalesce(r.lapses - v_now, -1) || ',' || r.wanted;
      IF NOT r.granted AND r.ahead + r.weight <= l.capacity THEN v_granted := v_granted || r.token; END IF;
    END LOOP;
    IF cardinality(v_granted) > 0 THEN
      UPDATE @place SET granted = true WHERE line = l.name AND token = ANY (v_granted);
    END IF;
  END LOOP;
  RETURN v_out;
END $$;
