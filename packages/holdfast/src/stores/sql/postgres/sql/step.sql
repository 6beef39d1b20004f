-- The parts of which the steps on a line are made. Each is called with the line's row locked, save now and lock themselves.

CREATE OR REPLACE FUNCTION @now_v3() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint $$;

-- Locks the line's row and returns it; all NULL if there is none.
-- What follows counts in later statements, whose snapshots are taken after the wait for the lock. With one snapshot for all
-- of them, B would count what A had not yet committed when B began to wait: two holders. Hence the refusal.
CREATE OR REPLACE FUNCTION @lock_v3(p_line bytea) RETURNS @line LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  SELECT * INTO l FROM @line WHERE name = p_line FOR UPDATE;
  RETURN l;
END $$;

-- Writes the line's row. Not in SQL, which would be planned anew at every call: that took six times as long as the update.
CREATE OR REPLACE FUNCTION @save_v3(l @line) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE @line SET capacity = l.capacity, last = l.last, places = l.places, weight = l.weight,
    lapses_from = l.lapses_from, dead_until = l.dead_until, watched_until = l.watched_until,
    solo_id = l.solo_id, solo_weight = l.solo_weight, solo_ttl = l.solo_ttl, solo_lapse = l.solo_lapse,
    solo_at = l.solo_at, solo_data = l.solo_data, solo_inbox = l.solo_inbox
  WHERE name = l.name;
END $$;

-- Moves the place that stood alone into a row of its own. The caller saves the line.
CREATE OR REPLACE FUNCTION @spill_v3(l @line) RETURNS @line LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF l.solo_id IS NULL THEN RETURN l; END IF;
  INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data, inbox, granted)
  VALUES (l.name, l.last, l.solo_id, l.solo_weight, l.solo_ttl, l.solo_lapse, l.solo_at, l.solo_data, l.solo_inbox, true);
  l.places := 1;
  l.weight := l.solo_weight;
  l.lapses_from := l.solo_lapse;
  l.solo_id := NULL;
  l.solo_data := NULL;
  l.solo_inbox := NULL;
  RETURN l;
END $$;

-- Deletes the lapsed, then tells those that have become granted, if anybody was removed (here or by the caller).
-- A place has lapsed only once it is deleted, and it is deleted and renewed under the same lock: whoever judges by reading
-- alone could ignore a place whose renewal commits a moment later.
CREATE OR REPLACE FUNCTION @tidy_v3(l @line, p_now bigint, p_removed boolean) RETURNS @line LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  p record;
  v_used bigint := 0;
  v_count bigint;
BEGIN
  IF l.places > 0 AND l.lapses_from <= p_now THEN
    DELETE FROM @place WHERE line = l.name AND lapse <= p_now;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    p_removed := p_removed OR v_count > 0;
    SELECT count(*), coalesce(sum(weight), 0), coalesce(min(lapse), 0) INTO l.places, l.weight, l.lapses_from
    FROM @place WHERE line = l.name;
  END IF;
  IF p_removed AND l.places > 0 THEN
    FOR p IN SELECT token, id, weight, inbox, granted FROM @place WHERE line = l.name ORDER BY token LOOP
      v_used := v_used + p.weight;
      EXIT WHEN v_used > l.capacity;
      IF NOT p.granted THEN
        UPDATE @place SET granted = true WHERE line = l.name AND token = p.token;
        IF p.inbox IS NOT NULL THEN
          PERFORM pg_notify(p.inbox, replace(p.id::text, '-', '') || ' ' || p.token);
        END IF;
      END IF;
    END LOOP;
  END IF;
  RETURN l;
END $$;

-- Tells the observers of the line, if it has any, that it has changed.
CREATE OR REPLACE FUNCTION @tell_v3(l @line, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF l.watched_until > p_now THEN
    PERFORM pg_notify(@channel, encode(l.name, 'hex'));
  END IF;
END $$;

-- Where a place stands, as `token,ahead,recheck,wanted`.
CREATE OR REPLACE FUNCTION @stand_v3(p_line bytea, p_token bigint, p_now bigint) RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT p_token || ',' || coalesce(sum(weight) FILTER (WHERE token < p_token), 0) || ',' ||
    coalesce(min(lapse) FILTER (WHERE token < p_token) - p_now, -1) || ',' ||
    count(*) FILTER (WHERE token > p_token)
  FROM @place WHERE line = p_line
$$;
