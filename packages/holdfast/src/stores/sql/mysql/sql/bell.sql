-- ear_v6(line, id, span) -> token: granted. `0`: look, it is gone or broken. NULL: still waiting after `span` microseconds.
--   Waits on the server: for the lock named after the place in front (join_v6), which its session lets go when it leaves or dies.
--   The lock is a doorbell and no more: what is answered is read from the rows. Nothing is inserted ahead of a place, and places in
--   front only go, so a place with nobody in front is granted.
CREATE PROCEDURE @ear_v6(p_line VARBINARY(512), p_id BINARY(16), p_span BIGINT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_until BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + p_span;
  DECLARE v_left BIGINT DEFAULT p_span;
  DECLARE v_answer VARCHAR(20) DEFAULT NULL;
  DECLARE v_token BIGINT;
  DECLARE v_weight BIGINT;
  DECLARE v_broken TINYINT;
  DECLARE v_capacity BIGINT;
  DECLARE v_ahead BIGINT;
  DECLARE v_raised BIGINT;
  DECLARE v_extra BIGINT;
  DECLARE v_beside BIGINT;
  DECLARE v_front BINARY(16);
  DECLARE v_bell VARCHAR(64);
  DECLARE v_pause DOUBLE DEFAULT 0.002;
  DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

  wait: LOOP
    SET v_token = NULL, v_front = NULL, v_ahead = 0;
    SELECT p.token, p.weight, p.broken, l.capacity, l.raised, l.raised_extra, l.raised_beside
    INTO v_token, v_weight, v_broken, v_capacity, v_raised, v_extra, v_beside
    FROM @place p JOIN @line l ON l.name = p.line WHERE p.id = p_id AND p.line = p_line;
    IF v_token IS NULL OR v_broken THEN
      SET v_answer = '0';
      LEAVE wait;
    END IF;
    -- A raised place waits for all that were granted beside it, also for those behind it.
    IF v_token <=> v_raised THEN
      SELECT id INTO v_front FROM @place WHERE line = p_line AND token <= v_beside AND token <> v_token ORDER BY token DESC LIMIT 1;
    ELSE
      SELECT id INTO v_front FROM @place WHERE line = p_line AND token < v_token ORDER BY token DESC LIMIT 1;
    END IF;
    IF v_front IS NOT NULL AND v_capacity > v_weight THEN
      SELECT SUM(weight) INTO v_ahead FROM @place WHERE line = p_line AND token < v_token;
      -- Granted before the raised place became heavier, and not told yet: it counts that place as light as it was.
      IF v_token > v_raised AND v_token <= v_beside THEN SET v_ahead = v_ahead - v_extra; END IF;
    END IF;
    IF v_front IS NULL OR (v_capacity > v_weight AND v_ahead + v_weight <= v_capacity) THEN
      SET v_answer = v_token;
      LEAVE wait;
    END IF;
    SET v_left = v_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    IF v_left <= 0 THEN LEAVE wait; END IF;
    SET v_bell = CONCAT('holdfast.', HEX(v_front));
    -- Where several hold together, not only the nearest can make room; and a place that stood alone when it entered has no bell.
    IF v_capacity > 1 OR IS_USED_LOCK(v_bell) IS NULL THEN
      DO SLEEP(LEAST(v_pause, v_left / 1000000));
      SET v_pause = LEAST(v_pause * 1.25, 0.025);
    ELSEIF GET_LOCK(v_bell, LEAST(1, v_left / 1000000)) = 1 THEN
      DO RELEASE_LOCK(v_bell);
      SET v_pause = 0.002;
    END IF;
  END LOOP;
  SELECT v_answer AS token;
END
;;
;;
-- heed_v6(lines, span) -> name (hex) and changes of the lines that are not as they were, once there are any; none after
--   `span` microseconds. lines: JSON array of [line (hex), changes]; -1: there was no such line.
--   For a holder who would let go for others. Nobody can ring for a line in which that holder stands alone: what rings is
--   a lock that a session lets go, and whoever comes has none that the holder could have waited for.
CREATE PROCEDURE @heed_v6(p_lines MEDIUMTEXT CHARACTER SET utf8mb4, p_span BIGINT)
SQL SECURITY INVOKER
BEGIN
  DECLARE v_until BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + p_span;
  DECLARE v_left BIGINT;
  DECLARE v_changed INT DEFAULT 0;
  DECLARE v_pause DOUBLE DEFAULT 0.002;

  wait: LOOP
    SELECT COUNT(*) INTO v_changed FROM JSON_TABLE(p_lines, '$[*]' COLUMNS (
      line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', changes BIGINT PATH '$[1]'
    )) t LEFT JOIN @line l ON l.name = UNHEX(t.line) WHERE COALESCE(l.changes, -1) <> t.changes;
    SET v_left = v_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    IF v_changed > 0 OR v_left <= 0 THEN LEAVE wait; END IF;
    DO SLEEP(LEAST(v_pause, v_left / 1000000));
    SET v_pause = LEAST(v_pause * 1.25, 0.025);
  END LOOP;
  SELECT t.line AS name, CAST(COALESCE(l.changes, -1) AS CHAR) AS changes FROM JSON_TABLE(p_lines, '$[*]' COLUMNS (
    line VARCHAR(1024) CHARACTER SET ascii PATH '$[0]', changes BIGINT PATH '$[1]'
  )) t LEFT JOIN @line l ON l.name = UNHEX(t.line) WHERE COALESCE(l.changes, -1) <> t.changes;
END
