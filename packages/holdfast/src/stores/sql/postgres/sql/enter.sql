-- enter_v6(line, id, weight, capacity, ttl, data, inbox, wait) -> `token,ahead,recheck,wanted`
--   NULL: no room (and not to wait), or a dead id.  `capacity n`: the line is in use with that capacity.
CREATE OR REPLACE FUNCTION @enter_v6(
  p_line bytea, p_id uuid, p_weight bigint, p_capacity bigint, p_ttl bigint, p_data text, p_inbox text, p_wait boolean
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  p record;
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_token bigint;
  v_due boolean;
BEGIN
  -- The short way: nobody is there. One statement, judged again on the newest row after a wait for its lock.
  UPDATE @line SET last = greatest(last + 1, v_now), capacity = p_capacity, solo_id = p_id, solo_weight = p_weight,
    solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now, solo_data = p_data, solo_inbox = p_inbox
  WHERE name = p_line AND places = 0 AND solo_id IS NULL AND dead_until <= v_now AND watched_until <= v_now
  RETURNING last INTO v_token;
  IF FOUND THEN RETURN v_token || ',0,-1,0'; END IF;

  LOOP
    l := @lock_v6(p_line);
    EXIT WHEN l.name IS NOT NULL;
    -- A new line, or one that was swept: the floor is read in a later snapshot than the wait for the sweep.
    INSERT INTO @line (name, capacity, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data, solo_inbox)
    SELECT p_line, p_capacity, greatest(m.floor + 1, v_now), p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data, p_inbox
    FROM @meta m
    ON CONFLICT DO NOTHING RETURNING last INTO v_token;
    IF FOUND THEN RETURN v_token || ',0,-1,0'; END IF;
  END LOOP;

  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  IF NOT p_wait AND l.solo_id <> p_id AND l.solo_lapse > v_now AND l.capacity = p_capacity
    AND l.solo_weight + p_weight > p_capacity THEN
    RETURN NULL;
  END IF;

  l := @spill_v6(l);
  v_due := l.lapses_from <= v_now;
  l := @tidy_v6(l, v_now, false);
  IF l.places > 0 THEN
    SELECT token, ttl, broken INTO p FROM @place WHERE id = p_id AND line = p_line;
    IF FOUND THEN
      PERFORM @save_v6(l);
      IF p.broken THEN RETURN NULL; END IF;
      UPDATE @place SET lapse = v_now + ttl WHERE line = p_line AND token = p.token;
      RETURN @stand_v6(l, p.token, v_now);
    END IF;
  END IF;
  IF l.dead_until > v_now AND EXISTS (SELECT FROM @dead WHERE line = p_line AND id = p_id AND until > v_now) THEN
    PERFORM @save_v6(l);
    RETURN NULL;
  END IF;
  IF l.places > 0 AND l.capacity <> p_capacity THEN
    PERFORM @save_v6(l);
    RETURN 'capacity ' || l.capacity;
  END IF;
  IF NOT p_wait AND l.weight + p_weight > p_capacity THEN
    PERFORM @save_v6(l);
    RETURN NULL;
  END IF;

  l.last := greatest(l.last + 1, v_now);
  l.capacity := p_capacity;
  IF l.places = 0 THEN
    l.weight := 0;
    l.solo_id := p_id;
    l.solo_weight := p_weight;
    l.solo_ttl := p_ttl;
    l.solo_lapse := v_now + p_ttl;
    l.solo_at := v_now;
    l.solo_data := p_data;
    l.solo_inbox := p_inbox;
    PERFORM @save_v6(l);
    PERFORM @tell_v6(l, v_now);
    RETURN l.last || ',0,-1,0';
  END IF;
  INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data, inbox, granted)
  VALUES (p_line, l.last, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data, p_inbox, l.weight + p_weight <= p_capacity);
  -- A place that waits need not be on the disk when it is answered, and the line's row, which a leaver may be waiting for, is free that much
  -- sooner. It is there before anybody is told that it is granted: whoever makes room writes, and waits for, a later record of the same log. Lost
  -- in a crash before that it has granted nothing, and its owner finds it gone and enters anew. Not so where this very step has told others.
  IF NOT v_due AND l.weight + p_weight > p_capacity THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
  -- What is in front of the newest place is all there was, and none of it lapses before lapses_from.
  v_token := l.weight;
  l.places := l.places + 1;
  l.weight := l.weight + p_weight;
  PERFORM @tell_v6(l, v_now);
  p_ttl := least(l.lapses_from, v_now + p_ttl);
  v_now := l.lapses_from - v_now;
  l.lapses_from := p_ttl;
  PERFORM @save_v6(l);
  RETURN l.last || ',' || v_token || ',' || v_now || ',0';
END $$;
