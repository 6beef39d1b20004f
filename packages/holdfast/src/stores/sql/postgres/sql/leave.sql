-- leave_v6(line, id, ttl, after) -> NULL.  after > 0: the place stays that long, and is not renewed.
-- A place that was broken stays, and weighs until it lapses: its holder was told, but what it was doing may still go on.
-- An id nobody knows is dead from now on, for one ttl: its own enter may still be under way.
CREATE OR REPLACE FUNCTION @leave_v6(p_line bytea, p_id uuid, p_ttl bigint, p_after bigint)
RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_weight bigint;
  v_removed boolean := false;
BEGIN
  -- The short way: it stands alone, so nobody need be told.
  IF p_after = 0 THEN
    UPDATE @line SET solo_id = NULL, solo_data = NULL, solo_inbox = NULL
    WHERE name = p_line AND solo_id = p_id AND watched_until <= v_now;
    IF FOUND THEN RETURN NULL; END IF;
  END IF;

  LOOP
    l := @lock_v6(p_line);
    EXIT WHEN l.name IS NOT NULL;
    INSERT INTO @line (name, capacity, last) SELECT p_line, 1, m.floor FROM @meta m ON CONFLICT DO NOTHING;
  END LOOP;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  l := @spill_v6(l);
  IF p_after = 0 THEN
    DELETE FROM @place WHERE id = p_id AND line = p_line AND NOT broken RETURNING weight INTO v_weight;
    IF FOUND THEN
      v_removed := true;
      l.places := l.places - 1;
      l.weight := l.weight - v_weight;
    END IF;
  ELSE
    UPDATE @place SET broken = true, lapse = v_now + p_after WHERE id = p_id AND line = p_line AND NOT broken;
    IF FOUND THEN
      v_removed := true;
      l.lapses_from := least(l.lapses_from, v_now + p_after);
    END IF;
  END IF;
  IF NOT v_removed AND NOT EXISTS (SELECT FROM @place WHERE id = p_id AND line = p_line) THEN
    DELETE FROM @dead WHERE line = p_line AND until <= v_now;
    INSERT INTO @dead (line, id, until) VALUES (p_line, p_id, v_now + p_ttl)
    ON CONFLICT (line, id) DO UPDATE SET until = excluded.until;
    l.dead_until := greatest(l.dead_until, v_now + p_ttl);
  END IF;
  l := @tidy_v6(l, v_now, v_removed);
  PERFORM @save_v6(l);
  PERFORM @tell_v6(l, v_now);
  RETURN NULL;
END $$;
