-- swap_v6(key, write, version, next, ttl, nonce) -> {version, value, nonce}, decimal and text; version 0 is absent.
--   write false only reads. next NULL removes. ttl 0 lives for ever.
CREATE OR REPLACE FUNCTION @swap_v6(p_key bytea, p_write boolean, p_version bigint, p_next text, p_ttl bigint, p_nonce text)
RETURNS text[] LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  c @cell;
  v_now bigint;
  v_version bigint;
  v_lapse bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  LOOP
    IF p_write THEN SELECT * INTO c FROM @cell WHERE key = p_key FOR UPDATE;
    ELSE SELECT * INTO c FROM @cell WHERE key = p_key;
    END IF;
    v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
    v_version := CASE WHEN c.key IS NULL OR c.value IS NULL OR c.lapse <= v_now THEN 0 ELSE c.version END;
    IF c.lapse <= v_now THEN c.nonce := NULL; END IF;
    IF NOT p_write OR c.nonce = p_nonce OR v_version <> p_version THEN
      RETURN ARRAY[v_version::text, CASE WHEN v_version = 0 THEN NULL ELSE c.value END, c.nonce];
    END IF;
    -- A removed cell is remembered for ten minutes, so that a repeated removal can be told that it had succeeded.
    v_lapse := CASE WHEN p_next IS NULL THEN v_now + 600000000 WHEN p_ttl = 0 THEN NULL ELSE v_now + p_ttl END;
    IF c.key IS NULL THEN
      INSERT INTO @cell (key, version, value, nonce, lapse)
      SELECT p_key, greatest(m.floor + 1, v_now), p_next, p_nonce, v_lapse FROM @meta m
      ON CONFLICT DO NOTHING RETURNING version INTO v_version;
      EXIT WHEN FOUND;
    ELSE
      UPDATE @cell SET version = greatest(version + 1, v_now), value = p_next, nonce = p_nonce, lapse = v_lapse
      WHERE key = p_key RETURNING version INTO v_version;
      EXIT;
    END IF;
  END LOOP;
  RETURN ARRAY[CASE WHEN p_next IS NULL THEN '0' ELSE v_version::text END, p_next, p_nonce];
END $$;
