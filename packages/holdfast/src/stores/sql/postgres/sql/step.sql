-- The parts of which the steps on a line are made. Each is called with the line's row locked, save now and lock themselves.

CREATE OR REPLACE FUNCTION @now_v6() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint $$;

-- Locks the line's row and returns it; all NULL if there is none.
-- What follows counts in later statements, whose snapshots are taken after the wait for the lock. With one snapshot for all
-- of them, B would count what A had not yet committed when B began to wait: two holders. Hence the refusal.
CREATE OR REPLACE FUNCTION @lock_v6(p_line bytea) RETURNS @line LANGUAGE plpgsql VOLATILE AS $$
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
CREATE OR REPLACE FUNCTION @save_v6(l @line) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  UPDATE @line SET capacity = l.capacity, last = l.last, places = l.places, weight = l.weight,
    lapses_from = l.lapses_from, dead_until = l.dead_until, watched_until = l.watched_until,
    solo_id = l.solo_id, solo_weight = l.solo_weight, solo_ttl = l.solo_ttl, solo_lapse = l.solo_lapse,
    solo_at = l.solo_at, solo_data = l.solo_data, solo_inbox = l.solo_inbox,
    raised = l.raised, raised_extra = l.raised_extra, raised_beside = l.raised_beside
  WHERE name = l.name;
END $$;

-- What the place with this token need not count of a raised one: it was granted before that became heavier.
CREATE OR REPLACE FUNCTION @spared_v6(l @line, p_token bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN CASE WHEN p_token BETWEEN l.raised AND l.raised_beside THEN l.raised_extra ELSE 0 END;
END $$;

-- Moves the place that stood alone into a row of its own. The caller saves the line.
CREATE OR REPLACE FUNCTION @spill_v6(l @line) RETURNS @line LANGUAGE plpgsql VOLATILE AS $$
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
CREATE OR REPLACE FUNCTION @tidy_v6(l @line, p_now bigint, p_removed boolean) RETURNS @line LANGUAGE plpgsql VOLATILE AS $$
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
  IF l.raised IS NOT NULL AND NOT EXISTS (SELECT FROM @place WHERE line = l.name AND token = l.raised) THEN
    l.raised := NULL;
    l.raised_extra := 0;
    l.raised_beside := 0;
  END IF;
  IF p_removed AND l.places > 0 THEN
    FOR p IN SELECT token, id, weight, inbox, granted FROM @place WHERE line = l.name ORDER BY token LOOP
      v_used := v_used + p.weight;
      EXIT WHEN v_used - @spared_v6(l, p.token) > l.capacity;
      -- The raised one waits for all that were granted beside it.
      CONTINUE WHEN p.token = l.raised
        AND EXISTS (SELECT FROM @place WHERE line = l.name AND token <= l.raised_beside AND token <> l.raised);
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
CREATE OR REPLACE FUNCTION @tell_v6(l @line, p_now bigint) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF l.watched_until > p_now THEN
    PERFORM pg_notify(@channel, encode(l.name, 'hex'));
  END IF;
END $$;

-- Where a place stands, as `token,ahead,recheck,wanted`. A raised one has all in front that were granted beside it, wherever they stand.
CREATE OR REPLACE FUNCTION @stand_v6(l @line, p_token bigint, p_now bigint) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_till bigint := CASE WHEN p_token = l.raised THEN l.raised_beside ELSE p_token END;
  v_spared bigint := CASE WHEN p_token = l.raised THEN 0 ELSE @spared_v6(l, p_token) END;
  v_ahead bigint;
  v_lapse bigint;
  v_wanted bigint;
BEGIN
  SELECT coalesce(sum(weight) FILTER (WHERE token <= v_till AND token <> p_token), 0),
    min(lapse) FILTER (WHERE token <= v_till AND token <> p_token), count(*) FILTER (WHERE token > p_token)
  INTO v_ahead, v_lapse, v_wanted FROM @place WHERE line = l.name;
  RETURN p_token || ',' || v_ahead - v_spared || ',' || coalesce(v_lapse - p_now, -1) || ','
    -- One that waits to become heavier waits also for those behind which nobody stands.
    || CASE WHEN v_wanted > 0 OR l.raised <> p_token THEN 1 ELSE 0 END;
END $$;
