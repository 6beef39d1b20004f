-- sweep_v6(idle, max) -> how many rows went. Removes lines that nobody has entered for `idle`, and cells and rate limits that have lapsed;
--   the floor keeps every later token above theirs. Rows that somebody works with are left alone.
CREATE OR REPLACE FUNCTION @sweep_v6(p_idle bigint, p_max integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  l @line;
  v_now bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  v_floor bigint := 0;
  v_count integer := 0;
  v_cells integer;
  v_buckets integer;
  v_top bigint;
BEGIN
  -- Whoever sweeps raises the floor first: its row is the lock that keeps a second sweeper away.
  PERFORM 1 FROM @meta FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN 0; END IF;
  FOR l IN
    SELECT * FROM @line WHERE last < v_now - p_idle AND dead_until <= v_now AND watched_until <= v_now
      AND (solo_id IS NULL OR solo_lapse <= v_now - p_idle) AND (places = 0 OR lapses_from <= v_now - p_idle)
    LIMIT p_max FOR UPDATE SKIP LOCKED
  LOOP
    l := @spill_v6(l);
    l := @tidy_v6(l, v_now, false);
    IF l.places > 0 THEN
      PERFORM @save_v6(l);
      CONTINUE;
    END IF;
    DELETE FROM @dead WHERE line = l.name;
    DELETE FROM @line WHERE name = l.name;
    v_floor := greatest(v_floor, l.last);
    v_count := v_count + 1;
  END LOOP;
  WITH gone AS (
    DELETE FROM @cell WHERE key IN (
      SELECT key FROM @cell WHERE lapse <= v_now - p_idle LIMIT p_max FOR UPDATE SKIP LOCKED
    ) RETURNING version
  ) SELECT count(*), max(version) INTO v_cells, v_top FROM gone;
  DELETE FROM @bucket WHERE key IN (
    SELECT key FROM @bucket WHERE lapse <= v_now - p_idle LIMIT p_max FOR UPDATE SKIP LOCKED
  );
  GET DIAGNOSTICS v_buckets = ROW_COUNT;
  UPDATE @meta SET floor = greatest(floor, v_floor, v_top) WHERE v_count + v_cells > 0;
  RETURN v_count + v_cells + v_buckets;
END $$;
