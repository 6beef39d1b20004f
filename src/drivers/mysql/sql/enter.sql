-- enter_v1(line, id, weight, capacity, ttl, data, wait) -> `token,ahead,recheck,wanted`
--   NULL: no room (and not to wait), or a dead id.  `capacity n`: the line is in use with that capacity.
CREATE PROCEDURE @enter_v1(
  p_line VARBINARY(512), p_id BINARY(16), p_weight BIGINT, p_capacity BIGINT, p_ttl BIGINT, p_data TEXT CHARACTER SET utf8mb4, p_wait TINYINT
)
SQL SECURITY INVOKER
enter: BEGIN
  DECLARE v_now BIGINT;
  DECLARE v_answer VARCHAR(100) DEFAULT NULL;
  DECLARE v_name VARBINARY(512) DEFAULT NULL;
  DECLARE v_places INT;
  DECLARE v_capacity BIGINT;
  DECLARE v_weight BIGINT;
  DECLARE v_from BIGINT;
  DECLARE v_dead BIGINT;
  DECLARE v_last BIGINT;
  DECLARE v_token BIGINT DEFAULT NULL;
  DECLARE v_broken TINYINT;
  DECLARE v_solo BINARY(16);
  DECLARE v_solo_weight BIGINT;
  DECLARE v_solo_lapse BIGINT;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;

  -- Read committed: what is counted after the lock is what the lock's last owner left.
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  -- The short way: nobody is there. One statement, judged on the newest row under its lock.
  UPDATE @line SET last = LAST_INSERT_ID(GREATEST(last + 1, v_now)), capacity = p_capacity, changes = changes + 1,
    solo_id = p_id, solo_weight = p_weight, solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now, solo_data = p_data
  WHERE name = p_line AND places = 0 AND solo_id IS NULL AND dead_until <= v_now;
  IF ROW_COUNT() = 1 THEN
    COMMIT;
    SELECT CONCAT(LAST_INSERT_ID(), ',0,-1,0') AS answer;
    LEAVE enter;
  END IF;

  find: LOOP
    SELECT name, places, capacity, solo_id, solo_weight, solo_lapse INTO v_name, v_places, v_capacity, v_solo, v_solo_weight, v_solo_lapse
    FROM @line WHERE name = p_line FOR UPDATE;
    IF v_name IS NOT NULL THEN LEAVE find; END IF;
    -- A new line, or one that was swept; the floor keeps its tokens above those of before.
    INSERT IGNORE INTO @line (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data)
    SELECT p_line, p_capacity, GREATEST(m.floor + 1, v_now), 1, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data FROM @meta m;
    IF ROW_COUNT() = 1 THEN
      SELECT last INTO v_last FROM @line WHERE name = p_line;
      COMMIT;
      SELECT CONCAT(v_last, ',0,-1,0') AS answer;
      LEAVE enter;
    END IF;
  END LOOP;

  SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  IF NOT p_wait AND v_solo IS NOT NULL AND v_solo <> p_id AND v_solo_lapse > v_now AND v_capacity = p_capacity
    AND v_solo_weight + p_weight > p_capacity THEN
    ROLLBACK;
    SELECT NULL AS answer;
    LEAVE enter;
  END IF;
  CALL @spill_v1(p_line);
  CALL @tidy_v1(p_line, v_now);
  SELECT places, weight, capacity, lapses_from, dead_until, last INTO v_places, v_weight, v_capacity, v_from, v_dead, v_last
  FROM @line WHERE name = p_line FOR UPDATE;

  IF v_places > 0 THEN
    SELECT token, broken INTO v_token, v_broken FROM @place WHERE id = p_id AND line = p_line FOR UPDATE;
  END IF;
  IF v_token IS NOT NULL THEN
    IF NOT v_broken THEN
      UPDATE @place SET lapse = v_now + ttl WHERE line = p_line AND token = v_token;
      CALL @stand_v1(p_line, v_token, p_weight, v_capacity, v_now, v_answer);
    END IF;
  ELSEIF v_dead > v_now AND EXISTS (SELECT 1 FROM @dead WHERE line = p_line AND id = p_id AND until > v_now) THEN
    SET v_answer = NULL;
  ELSEIF v_places > 0 AND v_capacity <> p_capacity THEN
    SET v_answer = CONCAT('capacity ', v_capacity);
  ELSEIF NOT p_wait AND v_places > 0 AND v_weight + p_weight > p_capacity THEN
    SET v_answer = NULL;
  ELSEIF v_places = 0 THEN
    SET v_last = GREATEST(v_last + 1, v_now);
    UPDATE @line SET last = v_last, capacity = p_capacity, changes = changes + 1, weight = 0, solo_id = p_id, solo_weight = p_weight,
      solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now, solo_data = p_data
    WHERE name = p_line;
    SET v_answer = CONCAT(v_last, ',0,-1,0');
  ELSE
    -- What is in front of the newest place is all there was, and none of it lapses before lapses_from.
    SET v_last = GREATEST(v_last + 1, v_now);
    INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data)
    VALUES (p_line, v_last, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, p_data);
    UPDATE @line SET last = v_last, changes = changes + 1, places = places + 1, weight = weight + p_weight,
      lapses_from = LEAST(lapses_from, v_now + p_ttl)
    WHERE name = p_line;
    SET v_answer = CONCAT(v_last, ',', v_weight, ',', v_from - v_now, ',0');
  END IF;
  COMMIT;
  SELECT v_answer AS answer;
END
;;
