-- The parts of which the steps on a line are made. Each is called inside the caller's transaction, the line's row locked.

-- spill_v2(line): moves the place that stood alone into a row of its own.
CREATE PROCEDURE @spill_v2(p_line VARBINARY(512))
SQL SECURITY INVOKER
BEGIN
  INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data)
  SELECT name, last, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data FROM @line
  WHERE name = p_line AND solo_id IS NOT NULL;
  IF ROW_COUNT() > 0 THEN
    UPDATE @line SET places = 1, weight = solo_weight, lapses_from = solo_lapse, solo_id = NULL, solo_data = NULL
    WHERE name = p_line;
  END IF;
END
;;
-- tidy_v2(line, now): deletes the lapsed and counts anew, by locking reads. A place has lapsed only once it is deleted,
-- under the same lock under which it would be renewed.
CREATE PROCEDURE @tidy_v2(p_line VARBINARY(512), p_now BIGINT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_places INT;
  DECLARE v_weight BIGINT;
  DECLARE v_from BIGINT;
  DECLARE v_due TINYINT DEFAULT 0;
  SELECT places > 0 AND lapses_from <= p_now INTO v_due FROM @line WHERE name = p_line FOR UPDATE;
  IF v_due THEN
    DELETE FROM @place WHERE line = p_line AND lapse <= p_now;
    SELECT COUNT(*), COALESCE(SUM(weight), 0), COALESCE(MIN(lapse), 0) INTO v_places, v_weight, v_from
    FROM @place WHERE line = p_line FOR UPDATE;
    UPDATE @line SET changes = changes + (places <> v_places), places = v_places, weight = v_weight, lapses_from = v_from
    WHERE name = p_line;
  END IF;
END
;;
-- stand_v2(line, token, weight, capacity, now, out answer): where a place stands, as `token,ahead,recheck,wanted`.
-- Counting stops once the answer is "blocked": a thousand waiters must not count each other.
CREATE PROCEDURE @stand_v2(p_line VARBINARY(512), p_token BIGINT, p_weight BIGINT, p_capacity BIGINT, p_now BIGINT, OUT p_answer VARCHAR(100))
SQL SECURITY INVOKER
BEGIN
  DECLARE v_ahead BIGINT;
  DECLARE v_lapse BIGINT;
  DECLARE v_wanted TINYINT;
  SELECT COALESCE(SUM(f.weight), 0), MIN(f.lapse) INTO v_ahead, v_lapse FROM (
    SELECT weight, lapse FROM @place WHERE line = p_line AND token < p_token ORDER BY token LIMIT 8
  ) f;
  IF v_ahead + p_weight <= p_capacity THEN
    SELECT COALESCE(SUM(weight), 0), MIN(lapse) INTO v_ahead, v_lapse FROM @place WHERE line = p_line AND token < p_token;
  END IF;
  SELECT EXISTS (SELECT 1 FROM @place WHERE line = p_line AND token > p_token) INTO v_wanted;
  SET p_answer = CONCAT(p_token, ',', v_ahead, ',', COALESCE(v_lapse - p_now, -1), ',', v_wanted);
END
;;
