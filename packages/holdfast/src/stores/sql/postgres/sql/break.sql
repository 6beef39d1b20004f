-- break_v6(line, now) -> how many were broken: the places granted now. With `now` they go at once, else they weigh until they lapse.
CREATE OR REPLACE FUNCTION @break_v6(p_line bytea, p_at_once boolean) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  p record;
  v_now bigint;
  v_used bigint := 0;
  v_gone bigint := 0;
  v_count integer := 0;
BEGIN
  l := @lock_v6(p_line);
  IF l.name IS NULL THEN RETURN 0; END IF;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := @spill_v6(l);
  l := @tidy_v6(l, v_now, false);
  FOR p IN SELECT token, id, weight, inbox FROM @place WHERE line = p_line ORDER BY token LOOP
    v_used := v_used + p.weight;
    EXIT WHEN v_used - @spared_v6(l, p.token) > l.capacity;
    v_count := v_count + 1;
    v_gone := v_gone + p.weight;
    IF p_at_once THEN DELETE FROM @place WHERE line = p_line AND token = p.token;
    ELSE UPDATE @place SET broken = true WHERE line = p_line AND token = p.token;
    END IF;
    IF p.inbox IS NOT NULL THEN PERFORM pg_notify(p.inbox, replace(p.id::text, '-', '')); END IF;
  END LOOP;
  IF p_at_once AND v_count > 0 THEN
    l.places := l.places - v_count;
    l.weight := l.weight - v_gone;
    l := @tidy_v6(l, v_now, true);
  END IF;
  PERFORM @save_v6(l);
  PERFORM @tell_v6(l, v_now);
  RETURN v_count;
END $$;
