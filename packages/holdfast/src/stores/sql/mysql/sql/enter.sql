-- join_v6(line, id, weight, capacity, ttl, data, wait, bell, out answer): enters, inside the caller's transaction.
--   answer: `token,ahead,recheck,wanted`. NULL: no room (and not to wait), or a dead id. `capacity n`: the line is in use with that one.
--   bell 1: this session holds a lock named after the place for as long as it stands in a crowd; who waits behind it waits
--   for that (bell.sql). A lock of a session: leave has to come by the same one.
CREATE PROCEDURE @join_v6(
  p_line VARBINARY(512), p_id BINARY(16), p_weight BIGINT, p_capacity BIGINT, p_ttl BIGINT, p_data BLOB, p_wait TINYINT,
  p_bell TINYINT, OUT p_answer VARCHAR(100)
)
SQL SECURITY INVOKER
enter: BEGIN
  DECLARE v_now BIGINT;
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

  SET p_answer = NULL;
  SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  -- The short way: nobody is there. One statement, judged on the newest row under its lock.
  UPDATE @line SET last = LAST_INSERT_ID(GREATEST(last + 1, v_now)), capacity = p_capacity, changes = changes + 1,
    solo_id = p_id, solo_weight = p_weight, solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now,
    solo_data = CONVERT(p_data USING utf8mb4)
  WHERE name = p_line AND places = 0 AND solo_id IS NULL AND dead_until <= v_now;
  IF ROW_COUNT() = 1 THEN
    SET p_answer = CONCAT(LAST_INSERT_ID(), ',0,-1,0');
    LEAVE enter;
  END IF;

  find: LOOP
    SELECT name, places, weight, capacity, lapses_from, dead_until, last, solo_id, solo_weight, solo_lapse
    INTO v_name, v_places, v_weight, v_capacity, v_from, v_dead, v_last, v_solo, v_solo_weight, v_solo_lapse
    FROM @line WHERE name = p_line FOR UPDATE;
    IF v_name IS NOT NULL THEN LEAVE find; END IF;
    -- A new line, or one that was swept; the floor keeps its tokens above those of before.
    INSERT IGNORE INTO @line (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data)
    SELECT p_line, p_capacity, GREATEST(m.floor + 1, v_now), 1, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, CONVERT(p_data USING utf8mb4) FROM @meta m;
    IF ROW_COUNT() = 1 THEN
      SELECT last INTO v_last FROM @line WHERE name = p_line;
      SET p_answer = CONCAT(v_last, ',0,-1,0');
      LEAVE enter;
    END IF;
  END LOOP;

  SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  IF NOT p_wait AND v_solo IS NOT NULL AND v_solo <> p_id AND v_solo_lapse > v_now AND v_capacity = p_capacity
    AND v_solo_weight + p_weight > p_capacity THEN
    LEAVE enter;
  END IF;
  IF v_solo IS NOT NULL OR (v_places > 0 AND v_from <= v_now) THEN
    CALL @spill_v6(p_line);
    CALL @tidy_v6(p_line, v_now);
    SELECT places, weight, capacity, lapses_from INTO v_places, v_weight, v_capacity, v_from
    FROM @line WHERE name = p_line FOR UPDATE;
  END IF;

  IF v_places > 0 THEN
    SELECT token, broken INTO v_token, v_broken FROM @place WHERE id = p_id AND line = p_line FOR UPDATE;
  END IF;
  IF v_token IS NOT NULL THEN
    IF NOT v_broken THEN
      UPDATE @place SET lapse = v_now + ttl WHERE line = p_line AND token = v_token;
      CALL @stand_v6(p_line, v_token, p_weight, v_capacity, v_now, p_answer);
    END IF;
  ELSEIF v_dead > v_now AND EXISTS (SELECT 1 FROM @dead WHERE line = p_line AND id = p_id AND until > v_now) THEN
    SET p_answer = NULL;
  ELSEIF v_places > 0 AND v_capacity <> p_capacity THEN
    SET p_answer = CONCAT('capacity ', v_capacity);
  ELSEIF NOT p_wait AND v_places > 0 AND v_weight + p_weight > p_capacity THEN
    SET p_answer = NULL;
  ELSEIF v_places = 0 THEN
    SET v_last = GREATEST(v_last + 1, v_now);
    UPDATE @line SET last = v_last, capacity = p_capacity, changes = changes + 1, weight = 0, solo_id = p_id, solo_weight = p_weight,
      solo_ttl = p_ttl, solo_lapse = v_now + p_ttl, solo_at = v_now,
    solo_data = CONVERT(p_data USING utf8mb4)
    WHERE name = p_line;
    SET p_answer = CONCAT(v_last, ',0,-1,0');
  ELSE
    -- What is in front of the newest place is all there was, and none of it lapses before lapses_from.
    SET v_last = GREATEST(v_last + 1, v_now);
    -- Before anybody can see the place: whoever does finds its bell held.
    IF p_bell THEN DO GET_LOCK(CONCAT('holdfast.', HEX(p_id)), 0); END IF;
    INSERT INTO @place (line, token, id, weight, ttl, lapse, at, data)
    VALUES (p_line, v_last, p_id, p_weight, p_ttl, v_now + p_ttl, v_now, CONVERT(p_data USING utf8mb4));
    UPDATE @line SET last = v_last, changes = changes + 1, places = places + 1, weight = weight + p_weight,
      lapses_from = LEAST(lapses_from, v_now + p_ttl)
    WHERE name = p_line;
    SET p_answer = CONCAT(v_last, ',', v_weight, ',', v_from - v_now, ',0');
  END IF;
END
;;
-- enter_v6(line, id, weight, capacity, ttl, data, wait, bell) -> the answer of join_v6.
CREATE PROCEDURE @enter_v6(
  p_line VARBINARY(512), p_id BINARY(16), p_weight BIGINT, p_capacity BIGINT, p_ttl BIGINT, p_data BLOB, p_wait TINYINT,
  p_bell TINYINT
)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_answer VARCHAR(100);
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;
  -- Read committed: what is counted after the lock is what the lock's last owner left.
  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  CALL @join_v6(p_line, p_id, p_weight, p_capacity, p_ttl, p_data, p_wait, p_bell, v_answer);
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_answer AS answer;
END
;;
-- enter_all_v6(batch) -> `i:answer;` for each, i from 1. NULL: not all have room, and nothing was done. `capacity n,i`.
--   batch: JSON array of [line, id, weight, capacity, ttl, data], line and id hex. They are entered in the order of their names.
CREATE PROCEDURE @enter_all_v6(p_batch MEDIUMBLOB)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_out MEDIUMTEXT DEFAULT '';
  DECLARE v_over TINYINT DEFAULT 0;
  DECLARE v_answer VARCHAR(100);
  DECLARE v_i INT;
  DECLARE v_line VARBINARY(512);
  DECLARE v_id BINARY(16);
  DECLARE v_weight BIGINT;
  DECLARE v_capacity BIGINT;
  DECLARE v_ttl BIGINT;
  DECLARE v_data TEXT CHARACTER SET utf8mb4;
  DECLARE c CURSOR FOR SELECT t.i, UNHEX(t.line), UNHEX(t.id), t.weight, t.capacity, t.ttl, t.data FROM JSON_TABLE(CONVERT(p_batch USING utf8mb4), '$[*]' COLUMNS (
      i FOR ORDINALITY, line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]',
      weight BIGINT PATH '$[2]', capacity BIGINT PATH '$[3]', ttl BIGINT PATH '$[4]', data VARCHAR(4096) CHARACTER SET utf8mb4 PATH '$[5]'
    )) t ORDER BY t.line, t.i;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  OPEN c;
  walk: LOOP
    SET v_over = 0;
    FETCH c INTO v_i, v_line, v_id, v_weight, v_capacity, v_ttl, v_data;
    IF v_over THEN LEAVE walk; END IF;
    CALL @join_v6(v_line, v_id, v_weight, v_capacity, v_ttl, v_data, 0, 0, v_answer);
    IF v_answer LIKE 'capacity %' THEN
      SET v_out = CONCAT(v_answer, ',', v_i);
      LEAVE walk;
    END IF;
    IF v_answer IS NULL OR SUBSTRING_INDEX(SUBSTRING_INDEX(v_answer, ',', 2), ',', -1) + v_weight > v_capacity THEN
      SET v_out = NULL;
      LEAVE walk;
    END IF;
    SET v_out = CONCAT(v_out, v_i, ':', v_answer, ';');
  END LOOP;
  CLOSE c;
  IF v_out IS NULL OR v_out LIKE 'capacity %' THEN ROLLBACK AND NO CHAIN NO RELEASE; ELSE COMMIT AND NO CHAIN NO RELEASE; END IF;
  SELECT v_out AS answers;
END
;;
-- rename_v6(line, id, new, ttl, data) -> `token,ahead,recheck,wanted`, the place renewed; NULL: it has lapsed, or is another's.
CREATE PROCEDURE @rename_v6(p_line VARBINARY(512), p_id BINARY(16), p_new BINARY(16), p_ttl BIGINT, p_data BLOB)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_now BIGINT;
  DECLARE v_capacity BIGINT DEFAULT NULL;
  DECLARE v_token BIGINT DEFAULT NULL;
  DECLARE v_weight BIGINT;
  DECLARE v_id BINARY(16);
  DECLARE v_answer VARCHAR(100) DEFAULT NULL;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  SELECT capacity INTO v_capacity FROM @line WHERE name = p_line FOR UPDATE;
  IF v_capacity IS NOT NULL THEN
    SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    CALL @spill_v6(p_line);
    CALL @tidy_v6(p_line, v_now);
    SELECT token, weight, id INTO v_token, v_weight, v_id FROM @place
    WHERE line = p_line AND id IN (p_id, p_new) AND NOT broken FOR UPDATE;
    IF v_token IS NOT NULL THEN
      UPDATE @place SET id = p_new, ttl = p_ttl, lapse = v_now + p_ttl, data = CONVERT(p_data USING utf8mb4) WHERE line = p_line AND token = v_token;
      IF v_id <> p_new THEN
        -- A late enter of the old id must not stand in the line a second time.
        INSERT INTO @dead (line, id, until) VALUES (p_line, p_id, v_now + p_ttl) ON DUPLICATE KEY UPDATE until = v_now + p_ttl;
        UPDATE @line SET dead_until = GREATEST(dead_until, v_now + p_ttl) WHERE name = p_line;
      END IF;
      UPDATE @line SET changes = changes + 1, lapses_from = LEAST(lapses_from, v_now + p_ttl) WHERE name = p_line;
      CALL @stand_v6(p_line, v_token, v_weight, v_capacity, v_now, v_answer);
    END IF;
  END IF;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_answer AS answer;
END
;;
