-- leave_v6(line, id, ttl, after, bell).  after > 0: the place stays that long, and is not renewed.
-- bell 1: this session holds the place's bell, and rings it.
-- A place that was broken stays, and weighs until it lapses: its holder was told, but what it was doing may still go on.
-- An id nobody knows is dead from now on, for one ttl: its own enter may still be under way.
CREATE PROCEDURE @leave_v6(p_line VARBINARY(512), p_id BINARY(16), p_ttl BIGINT, p_after BIGINT, p_bell TINYINT)
SQL SECURITY INVOKER
go: BEGIN
  DECLARE v_now BIGINT;
  DECLARE v_name VARBINARY(512) DEFAULT NULL;
  DECLARE v_token BIGINT DEFAULT NULL;
  DECLARE v_weight BIGINT;
  DECLARE v_broken TINYINT DEFAULT 0;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK AND NO CHAIN NO RELEASE; RESIGNAL; END;

  SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
  START TRANSACTION;
  -- The short way: it stands alone.
  IF p_after = 0 THEN
    UPDATE @line SET solo_id = NULL, solo_data = NULL, changes = changes + 1 WHERE name = p_line AND solo_id = p_id;
    IF ROW_COUNT() = 1 THEN
      COMMIT AND NO CHAIN NO RELEASE;
      LEAVE go;
    END IF;
  END IF;

  find: LOOP
    SELECT name INTO v_name FROM @line WHERE name = p_line FOR UPDATE;
    IF v_name IS NOT NULL THEN LEAVE find; END IF;
    INSERT IGNORE INTO @line (name, capacity, last) SELECT p_line, 1, m.floor FROM @meta m;
  END LOOP;
  SET v_now = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
  CALL @spill_v6(p_line);
  SELECT token, weight, broken INTO v_token, v_weight, v_broken FROM @place WHERE id = p_id AND line = p_line FOR UPDATE;
  IF v_token IS NULL THEN
    DELETE FROM @dead WHERE line = p_line AND until <= v_now;
    INSERT INTO @dead (line, id, until) VALUES (p_line, p_id, v_now + p_ttl) ON DUPLICATE KEY UPDATE until = v_now + p_ttl;
    UPDATE @line SET dead_until = GREATEST(dead_until, v_now + p_ttl) WHERE name = p_line;
  ELSEIF v_broken THEN
    SET v_broken = 1;
  ELSEIF p_after = 0 THEN
    DELETE FROM @place WHERE line = p_line AND token = v_token;
    UPDATE @line SET changes = changes + 1, places = places - 1, weight = weight - v_weight WHERE name = p_line;
  ELSE
    UPDATE @place SET broken = 1, lapse = v_now + p_after WHERE line = p_line AND token = v_token;
    UPDATE @line SET changes = changes + 1, lapses_from = LEAST(lapses_from, v_now + p_after) WHERE name = p_line;
  END IF;
  CALL @tidy_v6(p_line, v_now);
  COMMIT AND NO CHAIN NO RELEASE;
  -- After the commit: who is woken by it finds the place gone.
  IF p_bell THEN DO RELEASE_LOCK(CONCAT('holdfast.', HEX(p_id))); END IF;
END
;;
