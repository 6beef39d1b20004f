-- take_v6(key, cost, burst, unit, drain, shut_after, shut) -> `taken,level,retry,shut`: contract/bucket.ts, whole numbers throughout.
--   shut in microseconds; retry, too.
CREATE OR REPLACE FUNCTION @take_v6(
  p_key bytea, p_cost bigint, p_burst bigint, p_unit bigint, p_drain bigint, p_shut_after bigint, p_shut bigint
) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  b @bucket;
  v_now bigint;
  v_gone bigint;
  v_need bigint := p_cost * p_unit;
  v_room bigint;
  v_retry bigint := 0;
  v_taken integer := 0;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'holdfast needs transactions that are read committed' USING ERRCODE = 'HF001';
  END IF;
  LOOP
    SELECT * INTO b FROM @bucket WHERE key = p_key FOR UPDATE;
    EXIT WHEN FOUND;
    INSERT INTO @bucket VALUES (p_key, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;
  END LOOP;
  v_now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
  -- Not more is multiplied than has to drain: the product of a long time and a fast drain would be too large.
  v_gone := greatest(0, v_now - b.at);
  b.level := CASE WHEN v_gone >= b.level / p_drain + 1 THEN 0 ELSE greatest(0, b.level - v_gone * p_drain) END;
  IF b.level = 0 AND b.shut_until <= v_now THEN b.refused := 0; END IF;
  v_room := p_burst * p_unit - b.level;
  IF b.shut_until > v_now THEN
    v_retry := b.shut_until - v_now;
  ELSIF v_need <= v_room THEN
    v_taken := 1;
    b.level := b.level + v_need;
  ELSE
    b.refused := b.refused + p_cost;
    v_retry := (v_need - v_room + p_drain - 1) / p_drain;
    IF p_shut_after > 0 AND b.refused > p_shut_after THEN
      b.shut_until := v_now + p_shut;
      b.refused := 0;
      v_retry := p_shut;
    END IF;
  END IF;
  IF b.shut_until <= v_now THEN b.shut_until := 0; END IF;
  UPDATE @bucket SET level = b.level, at = v_now, refused = b.refused, shut_until = b.shut_until,
    lapse = greatest(v_now + (b.level + p_drain - 1) / p_drain, b.shut_until)
  WHERE key = p_key;
  RETURN v_taken || ',' || b.level || ',' || v_retry || ',' || CASE WHEN b.shut_until > 0 THEN 1 ELSE 0 END;
END $$;
