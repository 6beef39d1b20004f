-- The parts of which the steps on a line are made. Each is called inside the caller's transaction, the line's row locked.
--   Whoever begins a transaction ends it by COMMIT or ROLLBACK AND NO CHAIN NO RELEASE: completion_type may say otherwise, and
--   all that comes by the connection afterwards would stay in a transaction that nobody commits.

-- spill_v6(line): moves the place that stood alone into a row of its own.
CREATE PROCEDURE @spill_v6(p_line VARBINARY(512))
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
-- tidy_v6(line, now): deletes the lapsed and counts anew, by locking reads. A place has lapsed only once it is deleted,
-- under the same lock under which it would be renewed.
CREATE PROCEDURE @tidy_v6(p_line VARBINARY(512), p_now BIGINT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_places INT;
  DECLARE v_weight BIGINT;
  DECLARE v_from BIGINT;
  DECLARE v_due TINYINT DEFAULT 0;
  DECLARE v_raised BIGINT DEFAULT NULL;
  SELECT places > 0 AND lapses_from <= p_now, raised INTO v_due, v_raised FROM @line WHERE name = p_line FOR UPDATE;
  IF v_due THEN
    DELETE FROM @place WHERE line = p_line AND lapse <= p_now;
    SELECT COUNT(*), COALESCE(SUM(weight), 0), COALESCE(MIN(lapse), 0) INTO v_places, v_weight, v_from
    FROM @place WHERE line = p_line FOR UPDATE;
    UPDATE @line SET changes = changes + (places <> v_places), places = v_places, weight = v_weight, lapses_from = v_from
    WHERE name = p_line;
  END IF;
  -- A raised place that has gone, by whatever step.
  IF v_raised IS NOT NULL AND NOT EXISTS (SELECT 1 FROM @place WHERE line = p_line AND token = v_raised) THEN
    UPDATE @line SET raised = NULL, raised_extra = 0, raised_beside = 0 WHERE name = p_line;
  END IF;
END
;;
-- stand_v6(line, token, weight, capacity, now, out answer): where a place stands, as `token,ahead,recheck,wanted`. A raised one has all in
-- front that were granted beside it, wherever they stand.
-- Counting stops once the answer is "blocked": a thousand waiters must not count each other.
CREATE PROCEDURE @stand_v6(p_line VARBINARY(512), p_token BIGINT, p_weight BIGINT, p_capacity BIGINT, p_now BIGINT, OUT p_answer VARCHAR(100))
SQL SECURITY INVOKER
BEGIN
  DECLARE v_ahead BIGINT;
  DECLARE v_lapse BIGINT;
  DECLARE v_wanted TINYINT;
  DECLARE v_raised BIGINT;
  DECLARE v_spared BIGINT;
  DECLARE v_till BIGINT;
  SELECT raised, IF(p_token BETWEEN raised AND raised_beside, raised_extra, 0), IF(p_token <=> raised, raised_beside, p_token)
  INTO v_raised, v_spared, v_till FROM @line WHERE name = p_line;
  IF p_token <=> v_raised THEN SET v_spared = 0; END IF;
  SELECT COALESCE(SUM(f.weight), 0) - v_spared, MIN(f.lapse) INTO v_ahead, v_lapse FROM (
    SELECT weight, lapse FROM @place WHERE line = p_line AND token <= v_till AND token <> p_token ORDER BY token LIMIT 8
  ) f;
  IF v_ahead + p_weight <= p_capacity THEN
    SELECT COALESCE(SUM(weight), 0) - v_spared, MIN(lapse) INTO v_ahead, v_lapse FROM @place
    WHERE line = p_line AND token <= v_till AND token <> p_token;
  END IF;
  -- One that waits to become heavier waits also for those behind which nobody stands.
  SELECT EXISTS (SELECT 1 FROM @place WHERE line = p_line AND token > p_token) OR COALESCE(v_raised <> p_token, 0) INTO v_wanted;
  SET p_answer = CONCAT(p_token, ',', v_ahead, ',', COALESCE(v_lapse - p_now, -1), ',', v_wanted);
END
;;
