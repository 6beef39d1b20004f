-- The short ways of join_v6 and leave_v6 for several lines in one step (decision 021). Who gets no answer asks by itself.
--   Lines that are there are never waited for: one that somebody has locked is left out, and nobody else is held up. A new line may
--   have to be waited for, while another session makes it, too: in the order of names, so that no two wait for each other in a circle.

-- On MariaDB they are plain statements (batch-statements.ts), and only enter_each and leave_each are called, where those fail. MySQL has no way to
--   write without waiting, and needs all that follows.

-- The statements are made of literals: with a list that is read from JSON each goes through temporary tables, which costs 150 µs and more
--   whatever they hold; a loop over the lines costs two to three times as much a line. A user variable is the one text that both servers
--   prepare from. Where the lines differ, the loop sorts them out.
-- enter_joined_v6(count, names, rows, batch) -> `*:token`: all lines were new, or all were there and free; else what enter_each answers.
--   names: literals joined by commas; rows: as VALUES takes them, in the order of their names, with @hf_token and @hf_now. Each line once.
CREATE PROCEDURE @enter_joined_v6(p_count INT, p_names MEDIUMTEXT CHARACTER SET ascii, p_rows MEDIUMTEXT CHARACTER SET ascii, p_batch MEDIUMBLOB)
SQL SECURITY INVOKER
enter: BEGIN
  DECLARE v_done INT DEFAULT 0;
  -- Another session has made one of the lines meanwhile.
  DECLARE CONTINUE HANDLER FOR 1062 SET v_done = 0;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  IF p_count > 0 THEN
    SET @hf_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)), @hf_token = NULL;
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    -- A line that is being swept is still there for this read: then they are not all new, and its floor is read by enter_v6.
    SET @hf_sql = CONCAT('SELECT COUNT(*) INTO @hf_there FROM @line FORCE INDEX (PRIMARY) WHERE name IN (', p_names, ')');
    PREPARE hf_joined FROM @hf_sql;
    EXECUTE hf_joined;
    IF @hf_there = 0 THEN
      SELECT GREATEST(floor + 1, @hf_now) INTO @hf_token FROM @meta WHERE one = 1;
      SET @hf_sql = CONCAT('INSERT INTO @line (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data) VALUES ', p_rows);
      PREPARE hf_joined FROM @hf_sql;
      SET v_done = p_count;
      EXECUTE hf_joined;
    ELSEIF @hf_there = p_count THEN
      -- Locks what is free in its newest form, and waits for none. The token is above those of all of them.
      SET @hf_sql = CONCAT('SELECT COUNT(*), GREATEST(MAX(last) + 1, @hf_now) INTO @hf_there, @hf_token FROM @line FORCE INDEX (PRIMARY)
        WHERE name IN (', p_names, ') AND places = 0 AND solo_id IS NULL AND dead_until <= @hf_now FOR UPDATE SKIP LOCKED');
      PREPARE hf_joined FROM @hf_sql;
      EXECUTE hf_joined;
      IF @hf_there = p_count THEN
        SET @hf_sql = CONCAT('INSERT INTO @line (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data) VALUES ', p_rows,
          ' ON DUPLICATE KEY UPDATE last = VALUES(last), capacity = VALUES(capacity), changes = changes + 1, solo_id = VALUES(solo_id),
          solo_weight = VALUES(solo_weight), solo_ttl = VALUES(solo_ttl), solo_lapse = VALUES(solo_lapse), solo_at = VALUES(solo_at),
          solo_data = VALUES(solo_data)');
        PREPARE hf_joined FROM @hf_sql;
        EXECUTE hf_joined;
        SET v_done = p_count;
      END IF;
    END IF;
    DEALLOCATE PREPARE hf_joined;
    IF v_done > 0 THEN
      COMMIT AND NO CHAIN NO RELEASE;
      SELECT CONCAT('*:', @hf_token) AS answers;
      LEAVE enter;
    END IF;
    ROLLBACK AND NO CHAIN NO RELEASE;
  END IF;
  CALL @enter_each_v6(p_batch);
END
;;
-- leave_joined_v6(count, names, ids, batch) -> `*:1`: all stood alone, and are gone; else what leave_each answers. Literals, joined by commas.
CREATE PROCEDURE @leave_joined_v6(
  p_count INT, p_names MEDIUMTEXT CHARACTER SET ascii, p_ids MEDIUMTEXT CHARACTER SET ascii, p_batch MEDIUMTEXT CHARACTER SET utf8mb4
)
SQL SECURITY INVOKER
leaving: BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  IF p_count > 0 THEN
    SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
    START TRANSACTION;
    SET @hf_sql = CONCAT('SELECT COUNT(*) INTO @hf_there FROM @line FORCE INDEX (PRIMARY)
      WHERE name IN (', p_names, ') AND solo_id IN (', p_ids, ') FOR UPDATE SKIP LOCKED');
    PREPARE hf_joined FROM @hf_sql;
    EXECUTE hf_joined;
    IF @hf_there = p_count THEN
      SET @hf_sql = CONCAT('UPDATE @line SET solo_id = NULL, solo_data = NULL, changes = changes + 1 WHERE name IN (', p_names, ')');
      PREPARE hf_joined FROM @hf_sql;
      EXECUTE hf_joined;
      COMMIT AND NO CHAIN NO RELEASE;
      DEALLOCATE PREPARE hf_joined;
      SELECT '*:1' AS answers;
      LEAVE leaving;
    END IF;
    DEALLOCATE PREPARE hf_joined;
    ROLLBACK AND NO CHAIN NO RELEASE;
  END IF;
  CALL @leave_each_v6(p_batch);
END
;;
-- enter_each_v6(batch) -> `i:token;` for each line that was free, i from 1.
--   batch: JSON array of [line, id, weight, capacity, ttl, data], line and id hex; each line once.
CREATE PROCEDURE @enter_each_v6(p_batch MEDIUMBLOB)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_now BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  DECLARE v_out MEDIUMTEXT DEFAULT '';
  DECLARE v_over TINYINT DEFAULT 0;
  DECLARE v_i INT;
  DECLARE v_line VARBINARY(513);
  DECLARE v_id BINARY(16);
  DECLARE v_weight BIGINT;
  DECLARE v_capacity BIGINT;
  DECLARE v_ttl BIGINT;
  DECLARE v_data TEXT CHARACTER SET utf8mb4;
  DECLARE v_last BIGINT;
  DECLARE c CURSOR FOR SELECT t.i, UNHEX(t.line), UNHEX(t.id), t.weight, t.capacity, t.ttl, t.data FROM JSON_TABLE(CONVERT(p_batch USING utf8mb4), '$[*]' COLUMNS (
      i FOR ORDINALITY, line VARCHAR(1026) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]',
      weight BIGINT PATH '$[2]', capacity BIGINT PATH '$[3]', ttl BIGINT PATH '$[4]', data VARCHAR(4097) CHARACTER SET utf8mb4 PATH '$[5]'
    )) t ORDER BY t.line;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
  -- Another session has made the line meanwhile.
  DECLARE CONTINUE HANDLER FOR 1062 SET v_last = NULL;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  OPEN c;
  walk: LOOP
    SET v_over = 0;
    FETCH c INTO v_i, v_line, v_id, v_weight, v_capacity, v_ttl, v_data;
    IF v_over THEN LEAVE walk; END IF;
    -- A text that is too long is cut off by JSON_TABLE, a number is NULL: both are refused where they are asked for by themselves.
    IF COALESCE(LENGTH(v_line) > 512 OR CHAR_LENGTH(v_data) > 4096 OR v_id IS NULL OR v_weight + v_capacity + v_ttl IS NULL, 1) THEN
      ITERATE walk;
    END IF;
    SET v_last = NULL;
    SELECT last INTO v_last FROM @line WHERE name = v_line AND places = 0 AND solo_id IS NULL AND dead_until <= v_now FOR UPDATE SKIP LOCKED;
    IF v_last IS NOT NULL THEN
      SET v_last = GREATEST(v_last + 1, v_now);
      UPDATE @line SET last = v_last, capacity = v_capacity, changes = changes + 1, solo_id = v_id, solo_weight = v_weight,
        solo_ttl = v_ttl, solo_lapse = v_now + v_ttl, solo_at = v_now, solo_data = v_data WHERE name = v_line;
      SET v_out = CONCAT(v_out, v_i, ':', v_last, ';');
      ITERATE walk;
    END IF;
    -- A line that is being swept is still there for this read, and is left to enter_v6: its floor may be newer than what is read here.
    SELECT last INTO v_last FROM @line WHERE name = v_line;
    IF v_last IS NOT NULL THEN ITERATE walk; END IF;
    SELECT GREATEST(floor + 1, v_now) INTO v_last FROM @meta WHERE one = 1;
    INSERT INTO @line (name, capacity, last, changes, solo_id, solo_weight, solo_ttl, solo_lapse, solo_at, solo_data)
    VALUES (v_line, v_capacity, v_last, 1, v_id, v_weight, v_ttl, v_now + v_ttl, v_now, v_data);
    IF v_last IS NOT NULL THEN SET v_out = CONCAT(v_out, v_i, ':', v_last, ';'); END IF;
  END LOOP;
  CLOSE c;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_out AS answers;
END
;;
-- leave_each_v6(batch) -> `i:1;` for each place that stood alone and is gone, i from 1. batch: JSON array of [line, id], both hex.
CREATE PROCEDURE @leave_each_v6(p_batch MEDIUMTEXT CHARACTER SET utf8mb4)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_out MEDIUMTEXT DEFAULT '';
  DECLARE v_over TINYINT DEFAULT 0;
  DECLARE v_i INT;
  DECLARE v_line VARBINARY(513);
  DECLARE v_id BINARY(16);
  DECLARE v_name VARBINARY(512);
  DECLARE c CURSOR FOR SELECT t.i, UNHEX(t.line), UNHEX(t.id) FROM JSON_TABLE(p_batch, '$[*]' COLUMNS (
      i FOR ORDINALITY, line VARCHAR(1026) CHARACTER SET ascii PATH '$[0]', id VARCHAR(32) CHARACTER SET ascii PATH '$[1]'
    )) t;
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_over = 1;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  OPEN c;
  walk: LOOP
    SET v_over = 0;
    FETCH c INTO v_i, v_line, v_id;
    IF v_over THEN LEAVE walk; END IF;
    SET v_name = NULL;
    SELECT name INTO v_name FROM @line WHERE name = v_line AND solo_id = v_id FOR UPDATE SKIP LOCKED;
    IF v_name IS NULL THEN ITERATE walk; END IF;
    UPDATE @line SET solo_id = NULL, solo_data = NULL, changes = changes + 1 WHERE name = v_line;
    SET v_out = CONCAT(v_out, v_i, ':1;');
  END LOOP;
  CLOSE c;
  COMMIT AND NO CHAIN NO RELEASE;
  SELECT v_out AS answers;
END
;;
